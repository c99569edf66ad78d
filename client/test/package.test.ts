/** The package as npm publishes it, installed into an empty project. */

import { execFile } from 'node:child_process'
import { brotliCompressSync } from 'node:zlib'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startIngestServer } from './support/ingest-server.ts'

const run = promisify(execFile)
const clientFolder = resolve(import.meta.dirname, '..')
const MAX_BROWSER_BROTLI_BYTES = 5_000

let project: string
let packed: { filename: string; files: { path: string }[] }

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'project-'))
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', project]
  const { stdout } = await run('npm', pack, { cwd: clientFolder })
  packed = (JSON.parse(stdout) as (typeof packed)[])[0] as typeof packed
  writeFileSync(join(project, 'package.json'), '{ "name": "project", "private": true, "type": "module" }')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(project, packed.filename)], {
    cwd: project,
  })
})

afterAll(() => rmSync(project, { recursive: true }))

/** A server of the service, if the environment names one; otherwise one of this test, whose messages can be seen. */
async function withServer(use: (env: Record<string, string>) => Promise<void>): Promise<unknown[] | undefined> {
  const { POSTRIDER_URL, POSTRIDER_WRITE_KEY } = process.env
  if (POSTRIDER_URL && POSTRIDER_WRITE_KEY) {
    await use({ POSTRIDER_URL, POSTRIDER_WRITE_KEY })
    return undefined
  }
  const server = await startIngestServer()
  await use({ POSTRIDER_URL: server.url, POSTRIDER_WRITE_KEY: 'key' })
  await server.stop()
  return server.messages()
}

describe('the package', () => {
  it('has the files that its exports name, and nothing that publint complains of', async () => {
    expect((await publint({ pkgDir: clientFolder, strict: true })).messages).toEqual([])
    const tops = new Set(packed.files.map(({ path }) => path.split('/')[0]))
    expect([...tops].sort()).toEqual(['README.md', 'dist', 'package.json', 'src'])
  })

  it('has no run-time dependency', () => {
    const manifest = JSON.parse(readFileSync(join(clientFolder, 'package.json'), 'utf8')) as object
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies', 'bundledDependencies']) {
      expect(manifest).not.toHaveProperty(kind)
    }
  })

  it('has source maps with the sources', () => {
    for (const file of ['esm/index.js', 'esm/browser.js', 'esm/receiver.js', 'cjs/index.js', 'cjs/receiver.js']) {
      const map = readFileSync(join(project, `node_modules/@postrider/analytics/dist/${file}.map`), 'utf8')
      expect((JSON.parse(map) as { sourcesContent: string[] }).sourcesContent.length).toBeGreaterThan(0)
    }
  })

  it('is imported and required', async () => {
    const names = '[typeof Analytics, typeof AnalyticsError, typeof verifySignature].join()'
    const sources = [
      [
        'module',
        'import { Analytics, AnalyticsError } from "@postrider/analytics"; import { verifySignature } from "@postrider/analytics/receiver"',
      ],
      [
        'commonjs',
        'const { Analytics, AnalyticsError } = require("@postrider/analytics"); const { verifySignature } = require("@postrider/analytics/receiver")',
      ],
    ]
    for (const [type, load] of sources) {
      const args = [`--input-type=${type}`, '-e', `${load}; console.log(${names})`]
      expect((await run(process.execPath, args, { cwd: project })).stdout).toBe('function,function,function\n')
    }
  })

  it('refuses at compile time what would be refused at the call, in ESM and CJS', async () => {
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
    const node = resolve(clientFolder, '../node_modules/@types')
    const fixture = readFileSync(join(clientFolder, 'test/types/calls.ts'))
    for (const [folder, type] of [
      ['esm', 'module'],
      ['cjs', 'commonjs'],
    ] as const) {
      mkdirSync(join(project, folder))
      writeFileSync(join(project, folder, 'package.json'), JSON.stringify({ type }))
      writeFileSync(join(project, folder, 'calls.ts'), fixture)
    }
    const options = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--target',
      'es2022',
      '--module',
      'nodenext',
    ]
    const types = ['--lib', 'es2023,dom', '--types', 'node', '--typeRoots', node]
    // Declarations are checked too: skipLibCheck is off.
    const { stdout } = await run(process.execPath, [tsc, ...options, ...types, 'esm/calls.ts', 'cjs/calls.ts'], {
      cwd: project,
    }).catch((error: { stdout: string }) => error)
    expect(stdout).toBe('')
  })

  it(`is under ${MAX_BROWSER_BROTLI_BYTES} bytes in a page, with brotli, and takes nothing of Node along`, async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: 'import { Analytics } from "@postrider/analytics"; new Analytics("key")',
        resolveDir: project,
      },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'browser',
    })
    const code = outputFiles[0]?.contents ?? new Uint8Array()
    expect(code.length).toBeGreaterThan(1_000)
    expect(brotliCompressSync(code).length).toBeLessThan(MAX_BROWSER_BROTLI_BYTES)
  })

  it('runs the first example of its README', async () => {
    const readme = readFileSync(join(project, 'node_modules/@postrider/analytics/README.md'), 'utf8')
    const [, example = ''] = /```js\n([\s\S]*?)```/.exec(readme) ?? []
    writeFileSync(join(project, 'example.js'), example)
    const messages = await withServer(async (env) => {
      const { stderr } = await run(process.execPath, ['example.js'], {
        cwd: project,
        env: { ...env, PATH: process.env.PATH, DEBUG: 'analytics' },
      })
      expect(stderr).toMatch(/^(analytics sent \d+, rejected 0\n)+$/)
    })
    if (messages) {
      expect(messages).toMatchObject([
        { type: 'identify', userId: 'user-1' },
        { type: 'track', userId: 'user-1', event: 'Order Completed' },
      ])
    }
  })
})
