/** Many changes of settings at once: all of them, or none. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../src/db/postgres.ts'
import type { AuditEntry } from '../../src/schemas/audit.ts'
import type { SettingsChange } from '../../src/schemas/settings-change.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

type Node = Pick<TestApp, 'api' | 'createSource' | 'connect'>
interface Answer {
  applied?: boolean
  code?: string
  message?: string
}

const apply = (node: Node, changes: SettingsChange[], dryRun = false) =>
  node.api<Answer>('POST', '/apply', { changes, dryRun })

/** All settings that can be changed, and the trace of their changes. */
async function everything(node: Node): Promise<unknown> {
  const paths = ['/sources', '/destinations', '/audiences', '/alert-rules', '/alert-channels', '/audit-log']
  return Promise.all(paths.map(async (path) => (await node.api('GET', path)).body))
}

const settings = { webhooks: [{ url: 'https://example.com/hook' }] }
const newSource: SettingsChange = { kind: 'sources', action: 'create', ref: 'web', body: { name: 'Web' } }
const newDestination: SettingsChange = {
  ...{ kind: 'destinations', action: 'create', ref: 'crm' },
  body: { name: 'CRM', type: 'webhooks', sourceIds: ['web'], settings },
}
const newAudience: SettingsChange = {
  ...{ kind: 'audiences', action: 'create', ref: 'vip' },
  body: { name: 'VIP', destinationIds: ['crm'], schedule: { interval: '6h' } },
}

it('makes changes in their order, and leaves a trace of each', async () => {
  await using node = await startTestApp()
  const old = await node.createSource('Old')
  const [kept, rules] = [
    await node.connect([old], ['http://127.0.0.1:9/in']),
    (await node.api<object>('GET', '/alert-rules')).body,
  ]
  const changes: SettingsChange[] = [
    ...[newSource, newDestination, newAudience],
    { kind: 'audiences', action: 'update', id: 'vip', body: { paused: true } },
    { kind: 'destinations', action: 'update', id: kept.id, body: { sourceIds: ['web'], paused: true } },
    { kind: 'alertRules', action: 'update', body: { ...rules, endpointDown: false } },
    { kind: 'sources', action: 'delete', id: old.id },
  ]
  const before = await everything(node)
  expect(await apply(node, changes, true)).toEqual({ status: 200, body: { applied: false } })
  expect(await everything(node)).toEqual(before)

  expect(await apply(node, changes)).toEqual({ status: 200, body: { applied: true } })
  const { body: sources } = await node.api<{ items: { id: string; name: string }[] }>('GET', '/sources')
  const web = sources.items.find(({ name }) => name === 'Web')?.id ?? ''
  expect(sources.items.map(({ name }) => name)).not.toContain('Old')
  const { body: destinations } = await node.api<{ items: { id: string; name: string }[] }>('GET', '/destinations')
  expect(destinations.items).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: kept.id, paused: true, sourceIds: [web] }),
      expect.objectContaining({ name: 'CRM', sourceIds: [web] }),
    ]),
  )
  const crm = destinations.items.find(({ name }) => name === 'CRM')?.id
  expect((await node.api('GET', '/audiences')).body).toMatchObject({
    items: [{ name: 'VIP', destinationIds: [crm], schedule: { interval: '6h' }, paused: true }],
  })
  expect((await node.api('GET', '/alert-rules')).body).toEqual({ ...rules, endpointDown: false })
  const { body: log } = await node.api<{ items: AuditEntry[] }>('GET', '/audit-log?limit=7')
  expect(log.items.map(({ action, outcome }) => [action, outcome]).reverse()).toEqual(
    [
      ...['sources.create', 'destinations.create', 'audiences.create', 'audiences.update', 'destinations.update'],
      ...['alert-rules.update', 'sources.delete'],
    ].map((action) => [action, 'done']),
  )
  expect(log.items.find(({ action }) => action === 'alert-rules.update')?.before).toEqual(rules)
  // What was made counts at once.
  const { body: made } = await node.api<{ writeKey: string }>('GET', `/sources/${web}`)
  expect((await node.post('/track', made.writeKey, { userId: 'u1', event: 'E' })).status).toBe(200)
})

it('makes none when some are refused, and names each of those', async () => {
  await using node = await startTestApp()
  await node.createSource('Taken')
  const before = await everything(node)
  const refused: SettingsChange[] = [
    newSource,
    { kind: 'sources', action: 'create', ref: 'taken', body: { name: 'Taken' } },
    {
      kind: 'destinations',
      action: 'create',
      body: { name: 'Follows', type: 'webhooks', sourceIds: ['taken'], settings },
    },
    {
      ...{ kind: 'destinations', action: 'create' },
      body: { name: 'Inside', type: 'webhooks', settings: { webhooks: [{ url: 'http://10.0.0.1/in' }] } },
    },
    { kind: 'audiences', action: 'update', id: 'aud_none', body: { paused: true } },
    { kind: 'alertRules', action: 'delete' },
  ]
  for (const dryRun of [true, false]) {
    const { status, body } = await apply(node, refused, dryRun)
    expect([status, body.code]).toEqual([409, 'conflict'])
    const faults = body.message?.split('; ') ?? []
    expect(faults[0]).toMatch(/^Nothing was changed: sources: Taken: name: another source/)
    expect(faults[1]).toMatch(/^destinations: Inside: settings\.webhooks\[0\]\.url: /)
    expect(body.message).toContain('audiences: aud_none: no audience has the id aud_none')
    expect(body.message).toContain('the rules of alerts can only be updated')
    expect(body.message).not.toContain('Follows')
    expect(await everything(node)).toEqual(before)
  }
})

it('makes none when Temporal refuses a schedule', async () => {
  await using node = await startTestApp()
  const before = await everything(node)
  const schedule = { interval: '1h', timezone: 'Nowhere/None' }
  const bad: SettingsChange = { kind: 'audiences', action: 'create', body: { name: 'Bad', schedule } }
  expect((await apply(node, [newSource, newDestination, newAudience, bad])).status).toBe(400)
  expect(await everything(node)).toEqual(before)
})

it.skipIf(findPostgres() === undefined)('makes none when its node is killed in the middle', async () => {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const url = await postgres.createDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-apply-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const namespace = await createNamespace()
  const environment = { DATABASE_URL: url }
  const killed = await startNodeProcess({ namespace, dataDir, environment })
  onTestFinished(() => killed.stop())
  const old = await killed.createSource('Old')
  const before = await everything(killed)

  const database = openPostgres(url, pino({ level: 'error' }))
  onTestFinished(() => database.close())
  const waiting = `select 1 from pg_locks where relation = 'alert_channels'::regclass and not granted`
  await database.transaction(async (tx) => {
    // The last of the changes waits until this transaction ends.
    await tx.query('lock table alert_channels in share row exclusive mode')
    const answer = apply(killed, [
      ...[newSource, newDestination],
      { kind: 'sources', action: 'delete', id: old.id },
      {
        ...{ kind: 'alertChannels', action: 'create' },
        body: { name: 'Ops', settings: { kind: 'slack', url: 'https://example.com/slack' } },
      },
    ])
    const ended = expect(answer).rejects.toThrow()
    await until('the last change waits', async () => (await tx.query(waiting)).length > 0)
    await killed.kill()
    await ended
  })

  await using next = await startTestApp({ namespace, dataDir, environment })
  expect(await everything(next)).toEqual(before)
})
