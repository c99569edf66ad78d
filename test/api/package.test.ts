/** The client of the management API as a node offers it: what its README says compiles strictly, and runs. */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { answerOf, ApiError, createClient } from '@postrider/api'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

let node: TestApp
let project: string

/** What would come from a registry is taken from here. */
const libraries = ['openapi-fetch', 'openapi-typescript-helpers', '@types/node', 'undici-types']

beforeAll(async () => {
  node = await startTestApp()
  project = await mkdtemp(join(tmpdir(), 'postrider-api-'))
  const installed = join(project, 'node_modules/@postrider/api')
  await mkdir(installed, { recursive: true })
  await mkdir(join(project, 'node_modules/@types'))
  for (const library of libraries)
    await symlink(join(root, 'node_modules', library), join(project, 'node_modules', library))
  const packed = await fetch(`${node.url}/api.tgz`)
  await writeFile(join(project, 'api.tgz'), Buffer.from(await packed.arrayBuffer()))
  await run('tar', ['-xzf', 'api.tgz', '--strip-components=1', '-C', installed], { cwd: project })
  await writeFile(join(project, 'package.json'), '{ "type": "module" }')
})
afterAll(async () => {
  await rm(project, { recursive: true })
  await node[Symbol.asyncDispose]()
})

/** Compiles a program, as strictly as compilers can, and runs it. */
async function compileAndRun(name: string, code: string): Promise<string> {
  await writeFile(join(project, `${name}.ts`), code)
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2023']
  const types = ['--module', 'nodenext', '--types', 'node']
  const compiled = await run(process.execPath, [tsc, ...options, ...types, `${name}.ts`], { cwd: project }).catch(
    (error: { stdout: string }) => error,
  )
  expect(compiled.stdout).toBe('')
  const env = { ...process.env, POSTRIDER_ADDRESS: node.url, POSTRIDER_ADMIN_TOKEN: adminToken }
  return (await run(process.execPath, [`${name}.js`], { cwd: project, env })).stdout
}

it('has the files that its manifest names, and nothing that publint complains of', async () => {
  expect((await publint({ pkgDir: join(root, 'api'), strict: true })).messages).toEqual([])
})

it('runs the programs of its README', async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 410 })
  const readme = await readFile(join(root, 'api/README.md'), 'utf8')
  const [first = '', second = ''] = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
  await compileAndRun('first', first.replace('http://127.0.0.1:3000', receiver.url))
  const { body } = await node.api<{ items: { name: string; writeKey: string; id: string }[] }>('GET', '/sources')
  const source = body.items.find(({ name }) => name === 'Website')
  await node.post('/track', source?.writeKey ?? '', { userId: 'u1', event: 'Refused', messageId: 'm1' })
  const failed = async () => {
    const { items } = (await node.api<{ items: { id: string }[] }>('GET', '/deliveries?status=failed')).body
    return items.length > 0
  }
  await until('it fails', failed)
  await compileAndRun('second', second)
  await receiver.received(2)
})

it('tells of a refusal as the node does', async () => {
  const api = createClient({ address: `${node.url}/`, token: adminToken })
  const refused = await answerOf(api.POST('/sources', { body: { name: '' } })).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ApiError)
  expect(refused).toMatchObject({ status: 400, code: 'bad_request', path: 'name' })
  const stranger = createClient({ address: node.url })
  await expect(answerOf(stranger.GET('/sources'))).rejects.toMatchObject({ status: 401, code: 'unauthorized' })
})
