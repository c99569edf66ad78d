import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AlertPreview } from '../../src/schemas/alert.ts'
import type { Audience, Sync } from '../../src/schemas/audience.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
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

/** What the node itself says; quicker than a run of the command. */
async function named<Item>(path: string, name: string): Promise<Item | undefined> {
  const { body } = await node.api<{ items: (Item & { name: string })[] }>('GET', path)
  return body.items.find((item) => item.name === name)
}

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
    const gently = await shell.json<Source>(['sources', 'rotate-key', 'Shop', '--overlap', '24h'])
    expect(Date.parse(gently.previousKeyExpiresAt ?? '')).toBeGreaterThan(Date.now() + 86_000_000)
    expect((await shell.run(['sources', 'show', 'Shop'])).stdout).toContain(gently.previousKeyExpiresAt)
    const ended = await shell.json(['sources', 'end-previous-keys', 'Shop', '--yes'])
    expect(ended).toEqual({ ...gently, previousKeyExpiresAt: null, previousKeyEnds: [] })
    expect(await shell.json(['sources', 'delete', made.id, '--yes'])).toEqual({ deleted: made.id })
    expect((await shell.run(['sources', 'show', 'Shop'])).code).toBe(5)
  })

  it('does not delete without a yes', async () => {
    const kept = await node.createSource('Kept')
    const refused = await shell.run(['sources', 'delete', 'Kept'])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('--yes')
    const asked = ['sources', 'delete', 'Kept']
    expect(await shell.atTerminal(asked, '[y/N]', 'n\r')).toMatchObject({ code: 1 })
    // Ctrl-C, and the end of the input.
    const [interrupted, ended] = [
      await shell.atTerminal(asked, '[y/N]', '\x03'),
      await shell.atTerminal(asked, '[y/N]', '\x04'),
    ]
    expect(interrupted.code).toBe(130)
    expect(interrupted.shown).toMatch(/postrider: interrupted: nothing was changed\s*$/)
    expect(ended.code).toBe(1)
    expect(ended.shown).toMatch(/postrider: nothing was changed\s*$/)
    expect(await named('/sources', 'Kept')).toEqual(kept)
    expect(await shell.atTerminal(asked, '[y/N]', 'y\r')).toMatchObject({ code: 0 })
    expect(await named('/sources', 'Kept')).toBeUndefined()
  })
})

describe('destinations', () => {
  it('makes, tests, changes and deletes them', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource('App')
    const made = await shell.json<Destination>(
      ['destinations', 'create', 'CRM', '--source', 'App', '--url', `${receiver.url}/in`].concat([
        '--header',
        'X-Tenant: a1',
        '--secret-env',
        'CRM_SECRET',
        '--success-policy',
        'all',
      ]),
      { env: { CRM_SECRET: 'a secret of the CRM' } },
    )
    expect(made).toMatchObject({ name: 'CRM', enabled: true, sourceIds: [source.id], successPolicy: 'all' })
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
    const failing = ['destinations', 'update', 'CRM', '--on-failing', 'hold', '--hold-after', '2m']
    expect(await shell.json(failing)).toMatchObject({ onFailing: 'hold', holdAfterSeconds: 120 })
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toContain('deliveries are held after 120 s')
    const longer = ['destinations', 'update', 'CRM', '--retry-window', '3d']
    expect(await shell.json(longer)).toMatchObject({ retryWindowHours: 72 })
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toContain('72 h')
    const quicker = ['destinations', 'update', 'CRM', '--retry-pauses', '30s..10m']
    expect(await shell.json(quicker)).toMatchObject({ retryPauses: { firstSeconds: 30, maxSeconds: 600 } })
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toContain('30 to 600 s, doubling')
    const noPauses = ['destinations', 'update', 'CRM', '--retry-pauses', 'none']
    expect(await shell.json(noPauses)).toMatchObject({ retryPauses: null })
    expect((await shell.run(['destinations', 'update', 'CRM', '--retry-pauses', '30s'])).code).toBe(2)
    const asBefore = ['destinations', 'update', 'CRM', '--retry-window', 'none']
    expect(await shell.json(asBefore)).toMatchObject({ retryWindowHours: null })
    const inOrder = ['destinations', 'update', 'CRM', '--order-per-user', '5m']
    expect(await shell.json(inOrder)).toMatchObject({ orderPerUser: { maxWaitSeconds: 300 } })
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toContain('waits up to 300 s')
    const sideBySide = ['destinations', 'update', 'CRM', '--order-per-user', 'none']
    expect(await shell.json(sideBySide)).toMatchObject({ orderPerUser: null })
    const moved = ['destinations', 'update', 'CRM', '--url', `${receiver.url}/in`, '--url', `${receiver.url}/too`]
    const changed = await shell.json<Destination>(moved)
    expect(changed.settings.webhooks[0]).toEqual(made.settings.webhooks[0])
    expect(changed.settings.webhooks[1]?.url).toBe(`${receiver.url}/too`)
    expect(changed.successPolicy).toBe('all')
    const other = ['destinations', 'update', 'CRM', '--url', `${receiver.url}/other`, '--url', `${receiver.url}/too`]
    expect((await shell.json<Destination>(other)).settings.webhooks[0]).toEqual({
      ...made.settings.webhooks[0],
      url: `${receiver.url}/other`,
    })
    const put = [
      'destinations',
      'update',
      'CRM',
      '--method',
      'PUT',
      '--content-type',
      'form',
      '--timeout',
      '20s',
      '--success-status',
      '404',
      '--success-status',
      '410-412',
      '--max-per-second',
      '10',
      '--max-concurrent',
      '2',
      '--endpoint-retry-window',
      '3d',
      '--endpoint-retry-pauses',
      '1s..1m',
    ]
    const bounds = { maxPerSecond: 10, maxConcurrent: 2 }
    const retry = { retryWindowHours: 72, retryPauses: { firstSeconds: 1, maxSeconds: 60 } }
    const options = {
      ...{ method: 'PUT', contentType: 'form', timeoutSeconds: 20, successStatuses: [404, '410-412'] },
      ...bounds,
      ...retry,
    }
    const all = (await shell.json<Destination>(put)).settings.webhooks
    expect(all).toMatchObject([{ ...options, headers: { 'X-Tenant': 'a1' } }, options])
    const shown = 'PUT, form, 20 s, takes 404 410-412, 10/s, 2 at a time, retried for 72 h, pauses 1 to 60 s, doubling'
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toContain(shown)
    const unbounded = ['destinations', 'update', 'CRM', '--max-per-second', 'none', '--max-concurrent', 'none']
    for (const webhook of (await shell.json<Destination>(unbounded)).settings.webhooks)
      for (const bound of Object.keys(bounds)) expect(webhook).not.toHaveProperty(bound)
    const asDestination = ['--endpoint-retry-window', 'none', '--endpoint-retry-pauses', 'none']
    const { settings } = await shell.json<Destination>(['destinations', 'update', 'CRM', ...asDestination])
    for (const webhook of settings.webhooks)
      for (const member of Object.keys(retry)) expect(webhook).not.toHaveProperty(member)
    const filter = join(shell.folder, 'orders.yaml')
    await writeFile(filter, 'events: [Order *]\nsample: 0.5\n')
    const filtered = ['destinations', 'update', 'CRM', '--filter', filter]
    expect(await shell.json(filtered)).toMatchObject({ filter: { events: ['Order *'], sample: 0.5 } })
    const tried = await shell.run(['destinations', 'rehearse', 'CRM', '--filter', filter, '--limit', '5'])
    expect(tried.stdout).toContain('Of the newest 0 events of its sources it takes 0 and leaves out 0.')
    await writeFile(filter, 'match: { path: a, op: like }\n')
    expect((await shell.run(filtered)).stderr).toContain('filter.match.op')
    expect(await shell.json(['destinations', 'update', 'CRM', '--no-filter'])).toMatchObject({ filter: null })
    const mapping = join(shell.folder, 'ads.yaml')
    await writeFile(mapping, 'drop: [context.ip]\nset: { origin: shop }\n')
    const mapped = ['destinations', 'update', 'CRM', '--mapping', mapping]
    expect(await shell.json(mapped)).toMatchObject({ mapping: { drop: ['context.ip'], set: { origin: 'shop' } } })
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toContain('{"drop":["context.ip"]')
    const shaped = await shell.run(['destinations', 'rehearse', 'CRM', '--mapping', mapping, '--limit', '5'])
    expect(shaped.stdout).toContain('The mapping changes 0 of them, and cannot be applied to 0 others.')
    await writeFile(mapping, 'drop: context\n')
    expect((await shell.run(mapped)).stderr).toContain('mapping.drop')
    expect(await shell.json(['destinations', 'update', 'CRM', '--no-mapping'])).toMatchObject({ mapping: null })
    const listed = (await shell.run(['destinations', 'list'])).stdout
    expect(listed).toContain(`${receiver.url}/too`)
    expect(listed).toMatch(/CRM +App +on +2 untried/)
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toMatch(/sources: +App\n/)
    expect((await shell.run(['destinations', 'show', 'CRM'])).stdout).toMatch(/\/too .*untried/)
    expect(await shell.json(['destinations', 'delete', 'CRM', '--yes'])).toEqual({ deleted: made.id })
  })

  it('are not switched off without a yes while something waits for them', { timeout: 150_000 }, async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource('Waiting')
    const { id } = await node.connect([source], [receiver.url])
    await node.api('PATCH', `/destinations/${id}`, { paused: true })
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Waits' })
    const held = `/deliveries/count?status=held&destinationId=${id}`
    await until('it is held', async () => (await node.api<{ count: number }>('GET', held)).body.count === 1, 60_000)

    const refused = await shell.run(['destinations', 'disable', id])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('1 delivery that waits for it is discarded')
    expect(refused.stderr).toContain('--yes')
    expect((await node.api<Destination>('GET', `/destinations/${id}`)).body.enabled).toBe(true)
    expect(await shell.json(['destinations', 'disable', id, '--yes'])).toMatchObject({ enabled: false })
    await node.api('DELETE', `/destinations/${id}`)
  })
})

describe('audiences', () => {
  it('makes an audience, uploads, previews, syncs and takes back', async () => {
    await using receiver = await startReceiver()
    await node.connect([], [receiver.url])
    const members = join(shell.folder, 'members.csv')
    await writeFile(members, 'userId\nu1\nu2\nu3\n')

    const made = await shell.json<Audience>([
      'audiences',
      'create',
      'Big spenders',
      '--destination',
      'Test destination',
    ])
    expect(made).toMatchObject({ key: 'big_spenders', membership: { kind: 'push' } })
    for (const command of [['list'], ['show', 'Big spenders']])
      expect((await shell.run(['audiences', ...command])).stdout).toContain('Test destination')
    const preview = await shell.json(['audiences', 'preview', 'Big spenders', members])
    expect(preview).toMatchObject({ rowsRead: 3, destinations: [{ added: 3, removed: 0 }] })
    expect(receiver.requests).toHaveLength(0)

    const uploaded = await shell.json<Sync>(['audiences', 'upload', 'Big spenders', members])
    expect(uploaded).toMatchObject({ kind: 'upload', status: 'completed', added: 3, sent: 3 })
    const traitsOf = ({ body }: ReceivedRequest) => {
      const { userId, traits } = JSON.parse(body.toString()) as { userId: string; traits: unknown }
      return { userId, traits }
    }
    const first = (await receiver.received(3)).map(traitsOf)
    expect(first).toEqual(
      expect.arrayContaining(['u1', 'u2', 'u3'].map((userId) => ({ userId, traits: { big_spenders: true } }))),
    )

    // From standard input, when there is no name that tells the format.
    const fewer = await shell.run(['audiences', 'upload', 'Big spenders', '-', '--format', 'ndjson', '--json'], {
      input: '{"userId":"u1"}\n{"userId":"u2"}\n',
    })
    expect(JSON.parse(fewer.stdout)).toMatchObject({ status: 'completed', removed: 1, unchanged: 2 })
    expect((await receiver.received(4)).slice(3).map(traitsOf)).toEqual([
      { userId: 'u3', traits: { big_spenders: false } },
    ])

    const undone = await shell.json<Sync>(['audiences', 'undo', 'Big spenders'])
    expect(undone).toMatchObject({ kind: 'undo', status: 'completed' })
    expect((await receiver.received(5)).slice(4).map(traitsOf)).toEqual([
      { userId: 'u3', traits: { big_spenders: true } },
    ])

    // One that removes nearly all is refused until it is confirmed.
    await writeFile(members, 'userId\nu1\n')
    const refused = await shell.run(['audiences', 'upload', 'Big spenders', members, '--json'])
    expect(refused.code).toBe(1)
    expect(JSON.parse(refused.stdout)).toMatchObject({ status: 'refused' })
    expect(await shell.json(['audiences', 'confirm', 'Big spenders'])).toMatchObject({
      status: 'completed',
      removed: 2,
    })

    expect(await shell.json(['audiences', 'resync', made.id])).toMatchObject({ kind: 'resync', status: 'completed' })
    const bar = await shell.atTerminal(['audiences', 'upload', 'Big spenders', members])
    expect(bar).toMatchObject({ code: 0, shown: expect.stringMatching(/upload \S+ 100%/) as unknown })
    const syncs = await shell.run(['audiences', 'syncs', 'Big spenders'])
    expect(syncs.stdout).toMatch(/resync +completed/)
    expect((await shell.run(['audiences', 'upload', 'Big spenders', '/none/members.txt'])).code).toBe(2)
    expect(await shell.json(['audiences', 'pause', made.id])).toMatchObject({ paused: true })
    expect(await shell.json(['audiences', 'delete', made.id, '--yes'])).toMatchObject({ deleted: made.id })
  })
})

describe('what operators ask for', () => {
  it('makes, lists and revokes tokens, and says what a viewer may not', async () => {
    const made = await shell.json<{ id: string; token: string; role: string }>(['tokens', 'create', 'Dashboard'])
    expect(made.role).toBe('viewer')
    const listed = await shell.run(['tokens', 'list'])
    expect(listed.stdout).toMatch(new RegExp(`${made.id} +Dashboard +viewer`))
    expect(listed.stdout).not.toContain(made.token)
    const source = await node.createSource('Seen by a viewer')
    const viewer = ['--token', made.token]
    const change = await shell.run(['sources', 'delete', source.id, '--yes', ...viewer])
    expect(change).toMatchObject({ code: 4, stderr: expect.stringContaining('The role viewer may read') as unknown })
    const sent = await shell.run(['send', 'track', '--source', source.id, '--user-id', 'u1', '--event', 'E', ...viewer])
    expect(sent).toMatchObject({ code: 4, stderr: expect.stringContaining('does not see write keys') as unknown })
    expect(await shell.json(['tokens', 'revoke', 'Dashboard', '--yes'])).toEqual({ revoked: made.id })
    expect((await shell.run(['tokens', 'list', ...viewer])).code).toBe(4)
    const log = await shell.run(['audit-log', '--subject', 'tokens', '--actor', 'admin', '--since', '1h'])
    expect(log.stdout).toContain(`tokens/${made.id}`)
    await node.api('DELETE', `/sources/${source.id}`)
  })

  it('shows how the node does', async () => {
    const status = await shell.run(['status'])
    expect(status.code).toBe(0)
    expect(status.stdout).toContain(node.url)
    expect(status.stdout).toMatch(/^away: +nothing$/m)
    expect(await shell.json(['status'])).toMatchObject({ missing: [], database: { healthy: true } })
  })

  it('makes and follows a deletion request', async () => {
    const source = await node.createSource('With users')
    const create = ['deletion-requests', 'create', 'u1', 'u2', '--source', 'With users']
    expect((await shell.run(create)).code).toBe(2)
    const made = await shell.json<{ id: string }>([...create, '--suppress', '--yes'])
    expect(made).toMatchObject({ users: 2, suppress: true })
    expect(await shell.json(['deletion-requests', 'show', made.id])).toMatchObject({ id: made.id })
    const list = (await shell.run(['deletion-requests', 'list'])).stdout
    for (const text of [made.id, 'erased', 'keys']) expect(list).toContain(text)
    const shown = await until('its keys are destroyed', async () => {
      const { stdout } = await shell.run(['deletion-requests', 'show', made.id])
      return !stdout.includes('not yet') && stdout
    })
    expect(shown).toMatch(/^erased: +\d{4}-/m)
    expect(shown).toMatch(/^keys destroyed: +\d+$/m)
    const lift = ['deletion-requests', 'lift', 'u1', 'u2']
    const lifted = (await shell.run([...lift, '--source', 'With users'])).stdout
    expect(lifted).toContain('Events of 2 users are delivered again, from now on.')
    expect((await shell.run(lift)).stdout).toContain('None of them was suppressed there.')
    expect(await shell.json(lift)).toEqual({ lifted: 0, remaining: 0 })
    await node.api('DELETE', `/sources/${source.id}`)
  })
})

describe('what is there', () => {
  it('is shown as JSON, all of it or one', async () => {
    const source = await node.createSource('Seen')
    const destination = await node.connect([source], ['http://127.0.0.1:9/seen'], { name: 'Seen destination' })
    const { body: audience } = await node.api<Audience>('POST', '/audiences', {
      name: 'Seen by all',
      destinationIds: [destination.id],
      membership: { kind: 'push' },
    })
    const things = [
      { group: 'sources', thing: source },
      { group: 'destinations', thing: destination },
      { group: 'audiences', thing: audience },
    ]
    await Promise.all(
      things.map(async ({ group, thing }) => {
        const [{ items }, one] = await Promise.all([
          shell.json<{ items: unknown[] }>([group, 'list']),
          shell.json([group, 'show', thing.id]),
        ])
        expect(items).toContainEqual(thing)
        expect(one).toEqual(thing)
      }),
    )
    expect(await shell.json(['audiences', 'syncs', audience.id])).toEqual({ items: [] })
    const update = ['audiences', 'update', 'Seen by all']
    const renamed = await shell.json([...update, '--name', 'Seen by some', '--keep-key', '--every', '6h'])
    expect(renamed).toMatchObject({ name: 'Seen by some', key: audience.key, schedule: { interval: '6h' } })
    expect(await shell.json(['audiences', 'update', audience.id, '--no-schedule'])).toMatchObject({
      schedule: null,
      destinationIds: [destination.id],
    })
    // Nothing waits for it: there is nothing to ask.
    expect(await shell.json(['destinations', 'disable', destination.id])).toMatchObject({ enabled: false })
    expect(await shell.json(['destinations', 'enable', destination.id])).toMatchObject({ enabled: true })
    const exported = await shell.json<{ destinations: { webhooks: unknown }[] }>(['export'])
    expect(exported.destinations.map(({ webhooks }) => webhooks)).toContainEqual([{ url: 'http://127.0.0.1:9/seen' }])
    for (const { group, thing } of things.reverse()) await node.api('DELETE', `/${group}/${thing.id}`)
  })
})

describe('alerts', () => {
  it('get rules and a channel, which is tested and removed', async () => {
    await using receiver = await startReceiver()
    const env = { SLACK: `${receiver.url}/services/secret-path` }
    const rules = {
      endpointFailingAfterSeconds: 600,
      endpointFailedPercent: 20,
      endpointFailedMinutes: 10,
      endpointDown: true,
      destinationHeld: true,
      inboxOlderThanSeconds: null,
      syncFailed: false,
      audienceResizedPercent: 30,
      keyEndingWithinSeconds: null,
    }
    const wanted = ['--endpoint-failing', '10m', '--endpoint-failed-percent', '20', '--endpoint-down', '--no-inbox-old']
    const more = ['--no-sync-failed', '--audience-resized', '30', '--no-key-ending']
    expect(await shell.json(['alerts', 'rules', ...wanted, ...more])).toEqual(rules)
    expect((await shell.run(['alerts', 'rules'])).stdout).toContain('after 600 s')
    const rotated = await node.createSource('Rotated')
    await node.api('POST', `/sources/${rotated.id}/rotate-key`, { overlapSeconds: 3_600 })
    const previewed = await shell.json<AlertPreview>(['alerts', 'rules', '--key-ending', '2h', '--preview'])
    expect(previewed.items).toContainEqual(expect.objectContaining({ kind: 'key_ending', subject: rotated.id }))
    expect(await shell.json(['alerts', 'rules'])).toEqual(rules)
    await node.api('DELETE', `/sources/${rotated.id}`)
    const made = await shell.run(['alerts', 'add-channel', 'Ops', '--kind', 'slack', '--url-env', 'SLACK'], { env })
    expect(made).toMatchObject({ code: 0 })
    expect(await shell.json(['alerts', 'test-channel', 'Ops'])).toEqual({ outcome: 'told' })
    expect(await receiver.received(1)).toMatchObject([{ path: '/services/secret-path' }])
    const channels = (await shell.run(['alerts', 'channels'])).stdout
    expect(channels).toContain('Ops')
    expect(made.stdout + channels).not.toContain('secret-path')
    const moved = { OTHER: `${receiver.url}/services/other-path` }
    const change = ['alerts', 'update-channel', 'Ops', '--name', 'Nights']
    expect(
      (await shell.run([...change, '--url-env', 'OTHER', '--app-url', 'https://p.example.com'], { env: moved })).code,
    ).toBe(0)
    expect(await shell.json(['alerts', 'test-channel', 'Nights'])).toEqual({ outcome: 'told' })
    expect(await receiver.received(2)).toMatchObject([{}, { path: '/services/other-path' }])
    expect(await shell.json(['alerts', 'update-channel', 'Nights', '--name', 'Ops', '--no-app-url'])).toMatchObject({
      name: 'Ops',
      appUrl: null,
    })
    expect((await shell.run(['alerts', 'update-channel', 'Ops', '--to', 'a@example.com'])).code).toBe(2)
    receiver.answer({ status: 410 })
    expect((await shell.run(['alerts', 'test-channel', 'Ops'])).code).toBe(1)
    expect((await shell.run(['alerts', 'remove-channel', 'Ops', '--yes'])).code).toBe(0)
    expect(await shell.json(['alerts', 'list'])).toHaveProperty('items')
    expect((await shell.run(['alerts', 'mute', 'alert_none', '1h'])).stderr).toContain('alert has the id')
    expect(
      (await shell.run(['alerts', 'add-channel', 'Mail', '--kind', 'email', '--url-env', 'SLACK'], { env })).code,
    ).toBe(2)
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
    onFailing: hold
    holdAfterSeconds: 60
    retryWindowHours: 24
    retryPauses: { firstSeconds: 30, maxSeconds: 600 }
    orderPerUser: { maxWaitSeconds: 90 }
    filter: { events: ['Order *'], match: { not: { path: userId, op: exists } } }
    mapping: { hash: [traits.email], rename: { event: name }, set: { a: 1 } }
    sharedSecret: { env: WAREHOUSE_SECRET }
    webhooks:
      - url: http://127.0.0.1:9/in
        timeoutSeconds: 20
        successStatuses: [409, 300-303]
        maxPerSecond: 10
        maxConcurrent: 2
        retryWindowHours: 72
        retryPauses: { firstSeconds: 1, maxSeconds: 60 }
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
    expect(dry.code).toBe(7)
    expect(changesOf(dry.stdout)).toMatchObject({ applied: false })
    expect(changesOf(dry.stdout).diff).toContain('+  - name: Warehouse')
    expect(await named('/sources', 'Web')).toBeUndefined()

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
    const filter = { events: ['Order *'], match: { not: { path: 'userId', op: 'exists' } } }
    const mapping = { hash: ['traits.email'], rename: { event: 'name' }, set: { a: 1 } }
    expect(made).toMatchObject({ paused: true, successPolicy: 'all', filter, mapping })
    expect(made).toMatchObject({ onFailing: 'hold', holdAfterSeconds: 60, held: null, retryWindowHours: 24 })
    expect(made.retryPauses).toEqual({ firstSeconds: 30, maxSeconds: 600 })
    expect(made.orderPerUser).toEqual({ maxWaitSeconds: 90 })
    expect(made.settings).toMatchObject({
      hasSharedSecret: true,
      webhooks: [
        {
          ...{ timeoutSeconds: 20, maxPerSecond: 10, maxConcurrent: 2 },
          ...{ retryWindowHours: 72, retryPauses: { firstSeconds: 1, maxSeconds: 60 } },
          headers: { 'X-Tenant': 'a1', Authorization: 'Bearer token-one' },
        },
      ],
    })
    expect(await named('/audiences', 'Big spenders')).toMatchObject({
      destinationIds: [made.id],
      schedule: { interval: '6h' },
      paused: true,
    })

    const second = await apply(file, '--yes')
    expect(changesOf(second.stdout)).toEqual({ changes: [], diff: '', applied: false })
    expect((await apply(file, '--dry-run')).code).toBe(0)
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
    const before = await named<Destination>('/destinations', 'Warehouse')
    const changed = file
      .replace(':9/in', ':9/new')
      .replace('WAREHOUSE_TOKEN', 'OTHER_TOKEN')
      .replace('timeoutSeconds: 20', 'method: PUT')
      .replace('successStatuses: [409, 300-303]', 'successStatuses: []')
      .replace('        maxPerSecond: 10\n        maxConcurrent: 2\n', '')
      .replace(/^ {8}retry.*\n/gm, '')
    const path = join(shell.folder, 'changed.yaml')
    await writeFile(path, changed)
    const answer = await shell.run(['apply', path, '--yes', '--json'], { env: { ...env, OTHER_TOKEN: 'token-two' } })
    expect(answer.code).toBe(0)
    expect(changesOf(answer.stdout).diff).toMatch(/-.*\(another value\)/)
    expect(answer.stdout).not.toMatch(/token-one|token-two/)
    const after = await named<Destination>('/destinations', 'Warehouse')
    expect(after?.settings.webhooks).toEqual([
      {
        id: before?.settings.webhooks[0]?.id,
        url: 'http://127.0.0.1:9/new',
        method: 'PUT',
        headers: { 'X-Tenant': 'a1', Authorization: 'token-two' },
      },
    ])
  })

  it('exports neither what is for one machine nor names that a file cannot tell apart, and deletes no such', async () => {
    const quick = await node.createSource('Quickstart')
    const web = await named<Source>('/sources', 'Web')
    const made = await Promise.all([
      node.connect([quick], ['http://127.0.0.1:9/quick'], { name: 'Quickstart receiver' }),
      node.connect(web === undefined ? [] : [web], ['http://127.0.0.1:9/listen'], { name: 'listen on laptop' }),
    ])
    const namesOf = async (...args: string[]): Promise<string[]> => {
      const { sources, destinations } = await shell.json<Record<string, { name: string }[]>>(['export', ...args])
      return [...(sources ?? []), ...(destinations ?? [])].map(({ name }) => name)
    }
    const local = ['Quickstart', 'Quickstart receiver', 'listen on laptop']
    const exported = await namesOf()
    expect(local.filter((name) => exported.includes(name))).toEqual([])
    expect(await namesOf('--all')).toEqual(expect.arrayContaining(local))
    const pruned = changesOf((await apply('version: 1', '--prune', '--dry-run')).stdout).changes as { name: string }[]
    expect(pruned.filter(({ name }) => local.includes(name))).toEqual([])

    const again = await node.createSource('Web')
    const twice = await shell.run(['export'])
    expect(twice).toMatchObject({ code: 1, stdout: '' })
    for (const text of [web?.id, again.id, 'have the same name, Web']) expect(twice.stderr).toContain(text)
    const shown = await shell.run(['sources', 'show', 'Web'])
    expect(shown.code).toBe(1)
    for (const { id } of [web, again].flatMap((one) => one ?? [])) expect(shown.stderr).toContain(id)
    for (const { id } of made) await node.api('DELETE', `/destinations/${id}`)
    for (const { id } of [again, quick]) await node.api('DELETE', `/sources/${id}`)
  })

  it('changes nothing when the node would refuse a part, and says all that it would', async () => {
    const bad = `
version: 1
sources: [{ name: New }]
destinations:
  - { name: First, sources: [New], webhooks: [{ url: 'http://127.0.0.1:9/in' }] }
  - { name: Inside, webhooks: [{ url: 'http://10.0.0.1/in' }] }
audiences:
  - { name: Fetched, membership: { kind: http, url: 'ftp://127.0.0.1/members' } }
`
    for (const how of ['--dry-run', '--yes']) {
      const { code, stderr } = await apply(bad, how)
      expect(code).toBe(1)
      expect(stderr).toContain('Nothing was changed: ')
      expect(stderr).toContain('destinations: Inside: settings.webhooks[0].url: ')
      expect(stderr).toContain('audiences: Fetched: membership.url must be ')
      expect(stderr).not.toContain('First')
    }
    expect(await named('/sources', 'New')).toBeUndefined()
    expect(await named('/destinations', 'First')).toBeUndefined()
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
    const made = 'version: 1\nsources: [{ name: New }]\ndestinations: '
    const [wrong, unknown, unset] = await Promise.all([
      apply('version: 1\nsources: [{ name: X, colour: red }]\n', '--yes'),
      apply(`${made}[{ name: D, sources: [None] }]\n`, '--yes'),
      apply(`${made}[{ name: D, sharedSecret: { env: NOT_SET } }]\n`, '--yes'),
    ])
    expect([wrong.code, unknown.code, unset.code]).toEqual([2, 2, 2])
    expect(JSON.parse(wrong.stderr)).toEqual({
      success: false,
      code: 'usage',
      message: expect.stringContaining('sources[0].colour: is not a known member') as string,
    })
    expect(unset.stderr).toContain('NOT_SET')
    expect(await named('/sources', 'New')).toBeUndefined()
  })
})
