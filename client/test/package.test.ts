/** The package as npm publishes it, installed into an empty project. */

import { gzipSync } from 'node:zlib'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientFolder, makeFreshProject, type FreshProject } from './support/fresh-project.ts'

/** 5,200 without, and 1,130 for the visitor who is remembered, page calls and consent. */
const MAX_BROWSER_GZIP_BYTES = 6_400

let project: FreshProject

beforeAll(async () => {
  project = await makeFreshProject()
})

afterAll(() => project.remove())

describe('the package', () => {
  it('has the files that its exports name, and nothing that publint complains of', async () => {
    expect((await publint({ pkgDir: clientFolder, strict: true })).messages).toEqual([])
    const tops = new Set(project.files.map(({ path }) => path.split('/')[0]))
    expect([...tops].sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json', 'src'])
  })

  it('has no run-time dependency', () => {
    const manifest = JSON.parse(readFileSync(join(clientFolder, 'package.json'), 'utf8')) as object
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies', 'bundledDependencies']) {
      expect(manifest).not.toHaveProperty(kind)
    }
  })

  it('has source maps with the sources', () => {
    for (const file of ['esm/index.js', 'esm/browser.js', 'esm/receiver.js', 'cjs/index.js', 'cjs/receiver.js']) {
      const map = readFileSync(join(project.folder, `node_modules/@postrider/analytics/dist/${file}.map`), 'utf8')
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
      expect((await project.node(args)).stdout).toBe('function,function,function\n')
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
      mkdirSync(join(project.folder, folder))
      writeFileSync(join(project.folder, folder, 'package.json'), JSON.stringify({ type }))
      writeFileSync(join(project.folder, folder, 'calls.ts'), fixture)
    }
    writeFileSync(join(project.folder, 'esm/browser.ts'), readFileSync(join(clientFolder, 'test/types/browser.ts')))
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
    const compile = async (args: string[]): Promise<string> => {
      // Declarations are checked too: skipLibCheck is off.
      const { stdout } = await project.node([tsc, ...args]).catch((error: { stdout: string }) => error)
      return stdout
    }
    expect(await compile([...options, ...types, 'esm/calls.ts', 'esm/browser.ts', 'cjs/calls.ts'])).toBe('')
    // Older compilers read no `exports`.
    const older = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'commonjs', '--moduleResolution', 'node10']
    expect(await compile([...older, '--ignoreDeprecations', '6.0', ...types, 'cjs/calls.ts'])).toBe('')
  })

  it(`is under ${MAX_BROWSER_GZIP_BYTES} bytes in a page, with gzip, and takes nothing of Node along`, async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: 'import { Analytics } from "@postrider/analytics"; new Analytics("key")',
        resolveDir: project.folder,
      },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'browser',
    })
    const code = outputFiles[0]?.contents ?? new Uint8Array()
    expect(code.length).toBeGreaterThan(1_000)
    expect(gzipSync(code, { level: 9 }).length).toBeLessThan(MAX_BROWSER_GZIP_BYTES)
  })
})
