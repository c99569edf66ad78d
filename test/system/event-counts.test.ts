/** What became of events, as Prometheus and the database have it. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { Client } from 'pg'

interface FateRow {
  source_id: string
  fate: string
  reason: string
  events: string
  minute: Date
}

const onPostgres = it.skipIf(findPostgres() === undefined)

let postgres: PostgresServer
let databaseUrl: string
let node: TestApp
beforeAll(async () => {
  if (findPostgres() === undefined) return
  postgres = await startPostgres()
  databaseUrl = await postgres.createDatabase()
  node = await startTestApp({ environment: { DATABASE_URL: databaseUrl } })
})
afterAll(async () => {
  await node?.[Symbol.asyncDispose]()
  await postgres?.stop()
})

onPostgres('are counted for every event, per source and minute', async () => {
  await using receiver = await startReceiver()
  const [source, lonely] = [await node.createSource(), await node.createSource()]
  await node.connect([source], [receiver.url])
  await node.api('POST', '/deletion-requests', { userIds: ['gone'], suppress: true })
  const event = { type: 'track', userId: 'u1', event: 'Counted' }
  const send = (body: object, { writeKey } = source) => node.post('/track', writeKey, { ...event, ...body })

  await send({ messageId: 'once' })
  await until('the first has started', async () => (await startedOf()) === 1)
  await send({ messageId: 'once' })
  await send({ integrations: { All: false } })
  await send({ userId: 'gone' })
  await send({ event: undefined })
  await send({ userId: undefined })
  await send({}, lonely)
  await send({}, { ...source, writeKey: 'unknown' })
  // More than may go to Temporal directly: into the inbox.
  await node.post('/batch', source.writeKey, { batch: [...Array.from({ length: 20 }, () => event), { type: 'track' }] })
  await until('all have started', async () => (await startedOf()) === 21)

  const expected = [
    [source.id, 'accepted', '', 22],
    [source.id, 'duplicate', '', 1],
    [source.id, 'filtered', '', 1],
    [source.id, 'inboxed', '', 20],
    [source.id, 'rejected', 'event_not_defined', 1],
    [source.id, 'rejected', 'id_required', 2],
    [source.id, 'started', '', 21],
    [source.id, 'suppressed', '', 1],
    [lonely.id, 'no_destination', '', 1],
    ['', 'rejected', 'unknown_write_key', 1],
  ] as const
  const metrics = await (await fetch(`${node.url}/metrics`)).text()
  for (const [, fate, reason, events] of expected)
    expect(metrics).toContain(`postrider_events_total{fate="${fate}",reason="${reason}"} ${events}\n`)
  await until('the counts are written', async () => (await fateRows()).some(({ fate }) => fate === 'inboxed'))
  await until('all counts are written', async () => (await sumOf('started')) === 21)
  const sums = new Map<string, number>()
  for (const { source_id, fate, reason, events } of await fateRows()) {
    const key = [source_id, fate, reason].join(' ')
    sums.set(key, (sums.get(key) ?? 0) + Number(events))
  }
  expect([...sums].sort()).toEqual(
    expected.map(([source_, fate, reason, events]) => [[source_, fate, reason].join(' '), events]).sort(),
  )
  for (const { minute } of await fateRows()) {
    expect(minute.getTime() % 60_000).toBe(0)
    expect(Math.abs(Date.now() - minute.getTime())).toBeLessThan(180_000)
  }
})

async function startedOf(): Promise<number> {
  const metrics = await (await fetch(`${node.url}/metrics`)).text()
  return Number(/postrider_events_total\{fate="started",reason=""\} (\d+)/.exec(metrics)?.[1] ?? 0)
}

async function sumOf(wanted: string): Promise<number> {
  return (await fateRows()).reduce((sum, { fate, events }) => sum + (fate === wanted ? Number(events) : 0), 0)
}

async function fateRows(): Promise<FateRow[]> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query<FateRow>('select * from event_fates')).rows
  } finally {
    await client.end()
  }
}
