import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { openShell, type Shell } from './command.ts'

let node: TestApp
let shell: Shell

beforeAll(async () => {
  node = await startTestApp()
  shell = await openShell(node.url)
})
afterAll(async () => {
  await shell[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

describe('sources', () => {
  it('makes, shows, changes and deletes them', async () => {
    const made = await shell.json<Source>(['sources', 'create', 'Shop'])
    expect(made).toMatchObject({ name: 'Shop', enabled: true })
    expect(await shell.json(['sources', 'list'])).toMatchObject({ items: expect.arrayContaining([made]) as unknown })
    const listed = await shell.run(['sources', 'list'])
    expect(listed.stdout).toMatch(new RegExp(`${made.id} +Shop +on +${made.writeKey}`))
    expect(await shell.json(['sources', 'update', 'Shop', '--off'])).toMatchObject({ enabled: false })
    const rotated = await shell.json<Source>(['sources', 'rotate-key', 'Shop', '--yes'])
    expect(rotated.writeKey).not.toBe(made.writeKey)
    expect(await shell.json(['sources', 'delete', made.id, '--yes'])).toEqual({ deleted: made.id })
    expect((await shell.run(['sources', 'show', 'Shop'])).code).toBe(5)
  })

  it('does not delete without a yes', async () => {
    await shell.json(['sources', 'create', 'Kept'])
    const refused = await shell.run(['sources', 'delete', 'Kept'])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('--yes')
    expect(await shell.json(['sources', 'show', 'Kept'])).toMatchObject({ name: 'Kept' })
  })
})

describe('destinations', () => {
  it('makes, tests, changes and deletes them', async () => {
    await using receiver = await startReceiver()
    const source = await shell.json<Source>(['sources', 'create', 'App'])
    const made = await shell.json<Destination>(
      ['destinations', 'create', 'CRM', '--source', 'App', '--url', `${receiver.url}/in`].concat([
        '--header',
        'X-Tenant: a1',
        '--secret-env',
        'CRM_SECRET',
      ]),
      { env: { CRM_SECRET: 'a secret of the CRM' } },
    )
    expect(made).toMatchObject({ name: 'CRM', enabled: true, sourceIds: [source.id] })
    expect(made.settings).toMatchObject({ hasSharedSecret: true, webhooks: [{ headers: { 'X-Tenant': 'a1' } }] })

    expect(await shell.json(['destinations', 'test', 'CRM', '--type', 'identify'])).toMatchObject({
      results: [{ outcome: 'delivered', status: 200 }],
    })
    const [request] = await receiver.received(1)
    expect(request).toMatchObject({ path: '/in', headers: { 'x-tenant': 'a1' } })
    receiver.answer({ status: 500 })
    const failed = await shell.run(['destinations', 'test', 'CRM'])
    expect(failed.code).toBe(1)
    expect(failed.stdout).toContain('unavailable')

    expect(await shell.json(['destinations', 'pause', 'CRM'])).toMatchObject({ paused: true })
    expect(await shell.json(['destinations', 'resume', 'CRM'])).toMatchObject({ paused: false })
    const moved = ['destinations', 'update', 'CRM', '--url', `${receiver.url}/in`, '--url', `${receiver.url}/too`]
    const changed = await shell.json<Destination>(moved)
    expect(changed.settings.webhooks[0]).toEqual(made.settings.webhooks[0])
    expect(changed.settings.webhooks[1]?.url).toBe(`${receiver.url}/too`)
    expect((await shell.run(['destinations', 'list'])).stdout).toContain(`${receiver.url}/too`)
    expect(await shell.json(['destinations', 'delete', 'CRM', '--yes'])).toEqual({ deleted: made.id })
  })
})

describe('export and apply', () => {
  const file = `
version: 1
sources:
  - name: Web
  - name: Old app
    enabled: false
destinations:
  - name: Warehouse
    sources: [Web, Old app]
    paused: true
    successPolicy: all
    sharedSecret: { env: WAREHOUSE_SECRET }
    webhooks:
      - url: http://127.0.0.1:9/in
        headers:
          X-Tenant: a1
          Authorization: { env: WAREHOUSE_TOKEN }
audiences:
  - name: Big spenders
    destinations: [Warehouse]
    schedule: { interval: 6h }
    paused: true
`
  const env = { WAREHOUSE_SECRET: 'secret-one', WAREHOUSE_TOKEN: 'Bearer token-one' }
  const apply = (text: string, ...args: string[]) => shell.run(['apply', '-', '--json', ...args], { input: text, env })
  const changesOf = (stdout: string) => JSON.parse(stdout) as { changes: unknown[]; diff: string; applied: boolean }

  it('shows what would change, applies it, and has nothing to do a second time', async () => {
    const dry = await apply(file, '--dry-run')
    expect(dry.code).toBe(0)
    expect(changesOf(dry.stdout)).toMatchObject({ applied: false })
    expect(changesOf(dry.stdout).diff).toContain('+  - name: Warehouse')
    expect((await shell.run(['sources', 'show', 'Web'])).code).toBe(5)

    const first = await apply(file, '--yes')
    expect(first).toMatchObject({ code: 0 })
    expect(changesOf(first.stdout).changes).toEqual([
      { kind: 'sources', action: 'create', name: 'Web' },
      { kind: 'sources', action: 'create', name: 'Old app' },
      { kind: 'destinations', action: 'create', name: 'Warehouse' },
      { kind: 'audiences', action: 'create', name: 'Big spenders' },
    ])
    for (const text of [dry.stdout, first.stdout]) expect(text).not.toMatch(/secret-one|token-one/)
    const made = await shell.json<Destination>(['destinations', 'show', 'Warehouse'])
    expect(made).toMatchObject({ paused: true, successPolicy: 'all' })
    expect(made.settings).toMatchObject({
      hasSharedSecret: true,
      webhooks: [{ headers: { 'X-Tenant': 'a1', Authorization: 'Bearer token-one' } }],
    })
    expect(await shell.json(['audiences', 'show', 'Big spenders'])).toMatchObject({
      destinationIds: [made.id],
      schedule: { interval: '6h' },
      paused: true,
    })

    const second = await apply(file, '--yes')
    expect(changesOf(second.stdout)).toEqual({ changes: [], diff: '', applied: false })
  })

  it('exports a file that changes nothing, and without secrets', async () => {
    const path = join(shell.folder, 'settings.yaml')
    await shell.json(['export', '--output', path])
    const text = await readFile(path, 'utf8')
    expect(text).not.toMatch(/secret-one|token-one/)
    expect(text).toContain('env: POSTRIDER_WAREHOUSE_SECRET')
    const again = await shell.json(['apply', path, '--prune', '--yes'], {
      env: { POSTRIDER_WAREHOUSE_AUTHORIZATION: 'Bearer token-one' },
    })
    expect(again).toMatchObject({ changes: [], applied: false })
  })

  it('keeps the id of an endpoint whose URL changes, and tells a changed secret header without showing it', async () => {
    const before = await shell.json<Destination>(['destinations', 'show', 'Warehouse'])
    const changed = file.replace(':9/in', ':9/new').replace('WAREHOUSE_TOKEN', 'OTHER_TOKEN')
    const path = join(shell.folder, 'changed.yaml')
    await writeFile(path, changed)
    const answer = await shell.run(['apply', path, '--yes', '--json'], { env: { ...env, OTHER_TOKEN: 'token-two' } })
    expect(answer.code).toBe(0)
    expect(changesOf(answer.stdout).diff).toMatch(/-.*\(another value\)/)
    expect(answer.stdout).not.toMatch(/token-one|token-two/)
    const after = await shell.json<Destination>(['destinations', 'show', 'Warehouse'])
    expect(after.settings.webhooks).toEqual([
      {
        id: before.settings.webhooks[0]?.id,
        url: 'http://127.0.0.1:9/new',
        headers: { 'X-Tenant': 'a1', Authorization: 'token-two' },
      },
    ])
  })

  it('deletes what the file lacks only when told to', async () => {
    const less = 'version: 1\nsources: [{ name: Web }]\n'
    expect(changesOf((await apply(less, '--yes')).stdout).changes).toEqual([])
    const pruned = await apply(less, '--prune', '--dry-run')
    expect(changesOf(pruned.stdout).changes).toEqual(
      expect.arrayContaining([
        { kind: 'destinations', action: 'delete', name: 'Warehouse' },
        { kind: 'audiences', action: 'delete', name: 'Big spenders' },
      ]),
    )
  })

  it('refuses a file that does not fit, a name that is not there and a secret that is not set, before it changes', async () => {
    const wrong = await apply('version: 1\nsources: [{ name: X, colour: red }]\n', '--yes')
    expect(wrong.code).toBe(2)
    expect(JSON.parse(wrong.stderr)).toMatchObject({ success: false, code: 'usage' })
    const unknown = await apply(
      'version: 1\nsources: [{ name: New }]\ndestinations: [{ name: D, sources: [None] }]\n',
      '--yes',
    )
    expect(unknown.code).toBe(2)
    const unset = 'version: 1\nsources: [{ name: New }]\ndestinations: [{ name: D, sharedSecret: { env: NOT_SET } }]\n'
    const refused = await apply(unset, '--yes')
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('NOT_SET')
    expect((await shell.run(['sources', 'show', 'New'])).code).toBe(5)
  })
})
