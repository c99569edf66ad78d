/** The command alone, as a node offers it: installed where nothing else is. */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { until } from '../support/wait.ts'
import { openShell, type Shell } from './command.ts'

/** 450 KB and a third more, with all its libraries. */
const maxPackageBytes = 600_000

const run = promisify(execFile)

let node: TestApp
let folder: string
let shell: Shell
/** A registry that is not asked, for its libraries come with it. */
let npmOptions: string[]

const manifestOf = async (path: string) =>
  JSON.parse(await readFile(resolve(import.meta.dirname, '../..', path), 'utf8')) as { version: string }

beforeAll(async () => {
  node = await startTestApp()
  folder = await mkdtemp(join(tmpdir(), 'postrider-alone-'))
  npmOptions = ['--registry', 'http://127.0.0.1:1', '--cache', join(folder, 'cache'), '--no-audit', '--no-fund']
  await writeFile(join(folder, 'package.json'), '{ "name": "project", "private": true }')
  await run('npm', ['install', ...npmOptions, `${node.url}/cli.tgz`], { cwd: folder })
  shell = await openShell(node.url, [join(folder, 'node_modules/.bin/postrider')])
})
afterAll(async () => {
  await shell[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
  await node[Symbol.asyncDispose]()
})

it('sends an event, receives it here, and lists its delivery', async () => {
  await node.createSource('Website')
  await using listening = shell.start(['listen', 'Website', '--json'])
  await listening.line('"listening"')
  const call = ['send', 'track', '--source', 'Website', '--user-id', 'u1', '--event', 'From afar']
  const sent = await shell.json<{ delivery: DeliveryDetail }>(call)
  expect(sent.delivery).toMatchObject({ status: 'delivered', event: 'From afar' })
  expect(JSON.parse(await listening.line('From afar'))).toMatchObject({ type: 'track', genuine: true, status: 200 })
  expect((await listening.interrupt()).code).toBe(0)
  const shown = await shell.run(['deliveries', 'show', sent.delivery.id])
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('From afar') as unknown })
  await until('the list to have it', async () => {
    const { items } = await shell.json<{ items: { id: string }[] }>(['deliveries', 'list', '--source', 'Website'])
    return items.some(({ id }) => id === sent.delivery.id)
  })
})

it('runs without being installed', async () => {
  const args = ['--yes', ...npmOptions, `${node.url}/cli.tgz`, 'sources', 'list', '--json']
  const env = { ...process.env, POSTRIDER_ADDRESS: node.url, POSTRIDER_ADMIN_TOKEN: adminToken }
  const { stdout } = await run('npx', args, { cwd: folder, env })
  expect(JSON.parse(stdout)).toMatchObject({ items: expect.any(Array) as unknown })
})

it('has what few commands load: the files of settings, the checks of a node', async () => {
  const written = await shell.sh('postrider export > settings.yaml && postrider apply settings.yaml --dry-run')
  expect(written).toMatchObject({ code: 0, stderr: '' })
  const doctor = await shell.run(['doctor', '--json'])
  expect(JSON.parse(doctor.stdout)).toMatchObject({ checks: expect.any(Array) as unknown })
})

it.each(['start', 'migrate', 'keys show'])('says where %s is to be had', async (words) => {
  const { code, stdout, stderr } = await shell.run(words.split(' '))
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^postrider: \w+ needs the whole of Postrider, .*\n$/)
  expect((await shell.run(['--help'])).stdout).not.toContain(`  ${words.split(' ')[0] ?? ''} `)
})

it('is of the version of its node, has nothing beside itself, and is small', async () => {
  const [own, whole] = await Promise.all([manifestOf('cli/package.json'), manifestOf('package.json')])
  expect(own).not.toHaveProperty('dependencies')
  expect(own.version).toBe(whole.version)
  expect((await shell.run(['--version'])).stdout).toBe(`${whole.version}\n`)
  const packed = await fetch(`${node.url}/cli.tgz`)
  expect((await packed.arrayBuffer()).byteLength).toBeLessThan(maxPackageBytes)
  const installed = join(folder, 'node_modules/@postrider/cli')
  for (const file of ['LICENSE', 'README.md']) expect((await stat(join(installed, file))).size).toBeGreaterThan(0)
  const licenses = await readFile(join(installed, 'dist/third-party-licenses.txt'), 'utf8')
  for (const library of ['commander', 'undici', 'yaml', 'zod'])
    expect(licenses).toMatch(new RegExp(`^${library} `, 'm'))
})
