/** Rules and channels of alerts in the settings as a file: from one node to an empty one. */

import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AlertChannel } from '../../src/schemas/alert.ts'
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

const file = `
version: 1
alertRules: { endpointFailingAfterSeconds: 600, endpointFailedPercent: 20, endpointDown: true, inboxOlderThanSeconds: null }
alertChannels:
  - { name: Hook, kind: webhook, url: { env: HOOK }, sharedSecret: { env: HOOK_SECRET }, appUrl: https://p.example.com }
  - { name: Slack, kind: slack, url: { env: SLACK } }
  - { name: Ops, kind: email, smtpUrl: { env: MAIL }, from: p@example.com, to: [a@example.com, b@example.com] }
`
const secrets = /secret-path|hook-secret|mail-password/

it('goes to an empty node and comes back the same, and a channel there is signed and told', async () => {
  const [one, other] = shells
  const [, otherNode] = nodes
  if (one === undefined || other === undefined || otherNode === undefined) throw new Error('there are two')
  await using hook = await startReceiver()
  const url = `${hook.url}/secret-path`
  const mail = 'smtp://postrider:mail-password@127.0.0.1:9'
  const apply = (shell: Shell, input: string, env: Record<string, string>, ...args: string[]) =>
    shell.run(['apply', '-', '--json', ...args], { input, env })
  const read = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as Applied

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
