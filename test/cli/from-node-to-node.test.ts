/** The settings as a file: from one node to an empty one. */

import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { AlertRulesSchema, type AlertChannel } from '../../src/schemas/alert.ts'
import { NewDestinationSchema, type Destination } from '../../src/schemas/destination.ts'
import { EndpointOptionsSchema } from '../../src/schemas/endpoint-options.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { openShell, type Shell } from './command.ts'

interface Applied {
  changes: { kind: string; action: string; name: string }[]
  diff: string
  applied: boolean
}

const nodes: TestApp[] = []
const shells: Shell[] = []
beforeAll(async () => {
  for (let n = 0; n < 2; n++) nodes.push(await startTestApp())
  for (const { url } of nodes) shells.push(await openShell(url))
})
afterAll(async () => {
  for (const one of [...shells, ...nodes]) await one[Symbol.asyncDispose]()
})

function two() {
  const [one, other] = shells
  const [, otherNode] = nodes
  if (one === undefined || other === undefined || otherNode === undefined) throw new Error('there are two')
  return { one, other, otherNode }
}

const apply = (shell: Shell, input: string, env: Record<string, string>, ...args: string[]) =>
  shell.run(['apply', '-', '--json', ...args], { input, env })
const read = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as Applied

const file = `
version: 1
alertRules: { endpointFailingAfterSeconds: 600, endpointFailedPercent: 20, endpointDown: true, inboxOlderThanSeconds: null }
alertChannels:
  - { name: Hook, kind: webhook, url: { env: HOOK }, sharedSecret: { env: HOOK_SECRET }, appUrl: https://p.example.com }
  - { name: Slack, kind: slack, url: { env: SLACK } }
  - { name: Ops, kind: email, smtpUrl: { env: MAIL }, from: p@example.com, to: [a@example.com, b@example.com] }
`
const secrets = /secret-path|hook-secret|mail-password/

it('rules and channels of alerts go to an empty node and come back the same, and a channel there is signed and told', async () => {
  const { one, other, otherNode } = two()
  await using hook = await startReceiver()
  const url = `${hook.url}/secret-path`
  const mail = 'smtp://postrider:mail-password@127.0.0.1:9'

  const env = { HOOK: url, HOOK_SECRET: 'hook-secret', SLACK: url, MAIL: mail }
  const dry = await apply(one, file, env, '--dry-run')
  expect(dry.code).toBe(7)
  const first = await apply(one, file, env, '--yes')
  expect(first).toMatchObject({ code: 0 })
  expect(read(first).changes).toEqual([
    { kind: 'alertRules', action: 'update', name: 'rules' },
    { kind: 'alertChannels', action: 'create', name: 'Hook' },
    { kind: 'alertChannels', action: 'create', name: 'Slack' },
    { kind: 'alertChannels', action: 'create', name: 'Ops' },
  ])
  expect(read(await apply(one, file, env, '--yes'))).toEqual({ changes: [], diff: '', applied: false })

  const exported = (await one.run(['export'])).stdout
  for (const text of [dry.stdout, first.stdout, exported]) expect(text).not.toMatch(secrets)
  const named = {
    POSTRIDER_HOOK_URL: url,
    POSTRIDER_HOOK_SECRET: 'hook-secret',
    POSTRIDER_SLACK_URL: url,
    POSTRIDER_OPS_URL: mail,
  }
  expect(await apply(other, exported, named, '--yes')).toMatchObject({ code: 0 })
  expect((await other.run(['export'])).stdout).toBe(exported)
  expect(read(await apply(other, exported, {}, '--prune', '--yes'))).toMatchObject({ changes: [], applied: false })

  expect(await other.json(['alerts', 'test-channel', 'Hook'])).toEqual({ outcome: 'told' })
  const [told] = await hook.received(1)
  const signature = createHmac('sha1', 'hook-secret')
    .update(told?.body ?? '')
    .digest('hex')
  expect(told).toMatchObject({ path: '/secret-path', headers: { 'x-signature': signature } })

  // Of a channel that is there, only what is changed needs its variable.
  const changed = exported.replace('p@example.com', 'q@example.com').replace('https://p.', 'https://q.')
  const change = await apply(other, changed, {}, '--yes')
  expect(change).toMatchObject({ code: 0 })
  expect(read(change).changes.map(({ name }) => name)).toEqual(['Hook', 'Ops'])
  const { items } = (await otherNode.api<{ items: AlertChannel[] }>('GET', '/alert-channels')).body
  expect(items).toMatchObject([
    { appUrl: 'https://q.example.com', settings: { kind: 'webhook', hasSharedSecret: true } },
    { settings: { kind: 'slack' } },
    { settings: { kind: 'email', from: 'q@example.com' } },
  ])

  const moved = { ...named, POSTRIDER_HOOK_URL: `${hook.url}/moved` }
  expect(await apply(other, changed, moved, '--update-secrets', '--yes')).toMatchObject({ code: 0 })
  expect(await other.json(['alerts', 'test-channel', 'Hook'])).toEqual({ outcome: 'told' })
  expect(await hook.received(2)).toMatchObject([{}, { path: '/moved' }])

  const inside = await apply(
    other,
    changed,
    { ...moved, POSTRIDER_HOOK_URL: 'http://10.0.0.1/' },
    '--update-secrets',
    '--yes',
  )
  expect(inside.code).toBe(1)
  expect(inside.stderr).toContain('alertChannels: Hook: settings.url: ')

  expect(read(await apply(other, 'version: 1', {}, '--prune', '--yes')).changes).toEqual([])
  const emptied = read(await apply(other, 'version: 1\nalertChannels: []', {}, '--prune', '--yes'))
  expect(emptied.changes.map(({ action, name }) => `${action} ${name}`).sort()).toEqual([
    'delete Hook',
    'delete Ops',
    'delete Slack',
  ])
})

/** All members that a file may have, each with another value than the usual one. */
const full = `
version: 1
sources:
  - { name: Web }
  - { name: Old app, enabled: false }
destinations:
  - name: Warehouse
    enabled: false
    paused: true
    successPolicy: all
    onFailing: hold
    holdAfterSeconds: 60
    retryWindowHours: 24
    retryPauses: { firstSeconds: 30, maxSeconds: 600 }
    orderPerUser: { maxWaitSeconds: 90 }
    sources: [Web, Old app]
    filter:
      types: [track, page]
      events: ['Order *', Sign-up]
      match:
        any:
          - { all: [{ path: properties.total, op: greater, value: 10.5 }, { path: properties.currency, op: oneOf, value: [EUR, null] }] }
          - { not: { path: 'context.a\\.b', op: exists } }
      sample: 0.25
    mapping:
      drop: [context.ip, properties.card]
      hash: [traits.email]
      rename: { event: name }
      set: { a: 1, nested.z: true, nested.none: null, b: 'text: with a colon' }
      expression: '$merge([$, {"total": $sum(properties.products.price)}])'
    sharedSecret: { env: SECRET }
    webhooks:
      - url: https://crm.example.com/in?a=1
        method: PUT
        contentType: form
        timeoutSeconds: 20
        successStatuses: [409, 300-303]
        maxPerSecond: 10
        maxConcurrent: 2
        retryWindowHours: 72
        retryPauses: { firstSeconds: 1, maxSeconds: 60 }
        headers: { X-Tenant: a1, Authorization: { env: TOKEN } }
      - url: https://other.example.com/
  - name: Lists
    mapping: { keep: [userId, traits] }
audiences:
  - name: Big spenders
    key: big
    destinations: [Warehouse]
    membership:
      kind: http
      url: https://members.example.com/list.csv
      format: csv
      headers: { Authorization: { env: TOKEN } }
    schedule: { interval: 6h }
    paused: true
    maxBadRowShare: 0.1
    maxRemovalShare: 0.3
    maxPerSecond: 50
  - name: Score
    kind: trait
    destinations: [Warehouse, Lists]
    membership: { kind: sql, connectionString: { env: CONNECTION }, query: 'select user_id, score as value from scores', statementTimeoutSeconds: 30 }
    schedule: { cron: 0 3 * * * }
    maxPerSecond: null
alertRules:
  endpointFailingAfterSeconds: 600
alertChannels:
  - { name: Slack, kind: slack, url: { env: SLACK } }
`

it('all settings go to an empty node and come back the same', async () => {
  const { one, other, otherNode } = two()
  for (const shell of [one, other])
    expect(await apply(shell, 'version: 1\nalertChannels: []', {}, '--prune', '--yes')).toMatchObject({ code: 0 })
  const [token, connection, slack] = [
    'Bearer token-one',
    'postgres://u:sql-password@db.example.com/x',
    'https://hooks.example.com/secret-path',
  ]
  const env = { SECRET: 'secret-one', TOKEN: token, CONNECTION: connection, SLACK: slack }
  const made = await apply(one, full, env, '--yes')
  expect(made).toMatchObject({ code: 0 })
  const exported = (await one.run(['export'])).stdout
  expect(exported).not.toMatch(/token-one|secret-one|sql-password|secret-path/)

  const { destinations, alertRules } = parse(exported) as {
    destinations: { name: string; webhooks: object[] }[]
    alertRules: object
  }
  const { filter, mapping } = (parse(full) as { destinations: object[] }).destinations[0] as {
    filter: object
    mapping: object
  }
  const warehouse = destinations.find(({ name }) => name === 'Warehouse')
  expect(warehouse).toMatchObject({ filter, mapping })
  // What is added to a destination, an endpoint or the rules is to be in the file.
  const members = Object.keys(NewDestinationSchema.shape).filter(
    (name) => !['type', 'sourceIds', 'settings'].includes(name),
  )
  expect(Object.keys(warehouse ?? {})).toEqual(expect.arrayContaining(members))
  expect(Object.keys(warehouse?.webhooks[0] ?? {})).toEqual(
    expect.arrayContaining(Object.keys(EndpointOptionsSchema.shape)),
  )
  expect(Object.keys(alertRules).sort()).toEqual(Object.keys(AlertRulesSchema.shape).sort())

  const variables = [...new Set(exported.match(/(?<=env: )\w+/g))]
  const named = Object.fromEntries(variables.map((name) => [name, valueOf(name)]))
  expect(await apply(other, exported, named, '--yes')).toMatchObject({ code: 0 })
  expect((await other.run(['export'])).stdout).toBe(exported)
  expect(read(await apply(other, exported, named, '--prune', '--yes'))).toMatchObject({ changes: [], applied: false })
  const { items } = (await otherNode.api<{ items: Destination[] }>('GET', '/destinations')).body
  const [endpoint] = items.find(({ name }) => name === 'Warehouse')?.settings.webhooks ?? []
  expect(endpoint?.headers).toEqual({ 'X-Tenant': 'a1', Authorization: token })

  /** What the variable stands for that the file names. */
  function valueOf(name: string): string {
    if (name.includes('SLACK')) return slack
    if (name.includes('CONNECTION') || name.includes('SCORE')) return connection
    return name.includes('AUTHORIZATION') ? token : 'secret-one'
  }
})
