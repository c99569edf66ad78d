/** What several nodes say of endpoints that are down, as one state. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { listFailingEndpoints, writeEndpointHealth, type EndpointSighting } from '../../src/db/attempt-stats.ts'
import type { Database } from '../../src/db/database.ts'
import { createDestinationStore } from '../../src/db/destinations.ts'
import { readEndpointStates, writeDownEndpoints } from '../../src/db/endpoint-states.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createAttemptRecorder } from '../../src/observation/attempts.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { until } from '../support/wait.ts'

let folder: string
let database: Database

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-states-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  database = await openPglite(folder, pino({ level: 'error' }))
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute))

it('tells the first node that holds an endpoint to be down, the next probe of any, and how many there are', async () => {
  const health = {
    destinationId: 'd',
    observedAt: at(9),
    failingSince: at(1),
    reason: 'It hangs.',
    succeededAt: null,
    isFinal: false,
  }
  await writeEndpointHealth(database, [{ endpointId: 'e1', ...health }])
  await writeDownEndpoints(database, 'one', [
    { endpointId: 'e1', downSince: at(3), nextProbeAt: at(10) },
    { endpointId: 'e2', downSince: at(3), nextProbeAt: at(10) },
  ])
  await writeDownEndpoints(database, 'two', [
    { endpointId: 'e1', downSince: at(2), nextProbeAt: at(11) },
    { endpointId: 'e2', downSince: at(4), nextProbeAt: null },
  ])
  const [e1, e2, e3] = await readEndpointStates(database, ['e1', 'e2', 'e3'])
  expect(e1).toEqual({
    id: 'e1',
    state: 'down',
    lastAttemptAt: at(9).toISOString(),
    failingSince: at(1).toISOString(),
    reason: 'It hangs.',
    // It fails for longer than a node knows that has begun meanwhile.
    downSince: at(1).toISOString(),
    nextProbeAt: at(10).toISOString(),
    downOnNodes: 2,
  })
  // One of them would send a probe at once.
  expect(e2).toMatchObject({ state: 'down', downSince: at(3).toISOString(), nextProbeAt: null, downOnNodes: 2 })
  expect(e3).toMatchObject({ state: 'untried', downOnNodes: 0 })

  await writeDownEndpoints(database, 'two', [{ endpointId: 'e2', downSince: at(4), nextProbeAt: null }])
  expect(await readEndpointStates(database, ['e1'])).toMatchObject([{ downSince: at(1).toISOString(), downOnNodes: 1 }])
  await writeDownEndpoints(database, 'one', [])
  expect(await readEndpointStates(database, ['e1', 'e2'])).toMatchObject([
    { state: 'failing', downOnNodes: 0 },
    { state: 'down', downOnNodes: 1 },
  ])
})

it('forgets what a node said that is silent since', async () => {
  await writeDownEndpoints(database, 'lost', [{ endpointId: 'e4', downSince: at(3), nextProbeAt: null }])
  await database.query(`update down_endpoints set seen_at = seen_at - interval '90 seconds' where node_id = 'lost'`)
  expect(await readEndpointStates(database, ['e4'])).toMatchObject([{ state: 'untried', downOnNodes: 0 }])
  await database.query(`update down_endpoints set seen_at = seen_at - interval '90 seconds' where node_id = 'lost'`)
  await writeDownEndpoints(database, 'other', [])
  expect(await database.query('select 1 from down_endpoints where node_id = $1', ['lost'])).toEqual([])
})

/** What a node tells of `endpointId`: failures since `failingSince`, the latest at `observedAt`. */
const sighting = (
  endpointId: string,
  [succeededAt, failingSince, observedAt]: [number | null, number | null, number],
): EndpointSighting => ({
  endpointId,
  destinationId: 'd',
  observedAt: at(observedAt),
  failingSince: failingSince === null ? null : at(failingSince),
  succeededAt: succeededAt === null ? null : at(succeededAt),
  reason: failingSince === null ? null : `failed at ${observedAt}`,
  isFinal: false,
})

it('tells since when an endpoint fails that several nodes attempt, whichever tells first', async () => {
  const told: [number | null, number | null, number][] = [
    [null, 1, 3],
    [4, null, 4],
    [null, 6, 9],
    [2, 5, 8],
  ]
  const orders = [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [2, 0, 3, 1],
    [1, 3, 0, 2],
  ]
  for (const [index, order] of orders.entries()) {
    const id = `several-${index}`
    for (const one of order)
      await writeEndpointHealth(
        database,
        told.slice(one, one + 1).map((seen) => sighting(id, seen)),
      )
    expect(await readEndpointStates(database, [id])).toMatchObject([
      {
        state: 'failing',
        failingSince: at(5).toISOString(),
        lastAttemptAt: at(9).toISOString(),
        reason: 'failed at 9',
      },
    ])
  }
  await writeEndpointHealth(database, [sighting('several-0', [10, null, 10])])
  await writeEndpointHealth(database, [sighting('several-0', [null, 7, 9])])
  expect(await readEndpointStates(database, ['several-0'])).toMatchObject([
    { state: 'working', failingSince: null, reason: null },
  ])
})

it('tells whether the latest failure is final, also where a node of the version before saw it', async () => {
  const range = { since: at(0), until: at(60), destinationIds: ['finals'] }
  const told = async () => (await listFailingEndpoints(database, range, 10)).map(({ isFinal }) => isFinal)
  const fail = (minute: number, isFinal: boolean): Promise<void> =>
    writeEndpointHealth(database, [{ ...sighting('final', [null, 1, minute]), destinationId: 'finals', isFinal }])
  await fail(3, true)
  await fail(2, false)
  expect(await told()).toEqual([true])
  await fail(4, false)
  expect(await told()).toEqual([false])
  await fail(5, true)
  expect(await told()).toEqual([true])
  await database.query(
    `insert into endpoint_health (endpoint_id, destination_id, observed_at, failing_since, reason)
     values ('final', 'finals', $1, $1, 'failed at 6')
     on conflict (endpoint_id) do update set observed_at = excluded.observed_at, reason = excluded.reason`,
    [at(6)],
  )
  expect(await told()).toEqual([false])
})

it('keeps since when an endpoint fails that failed while nothing could be written', async () => {
  let refused = 0
  let isAway = true
  const query = ((...statement: Parameters<Database['query']>) => {
    if (!isAway) return database.query(...statement)
    refused++
    return Promise.reject(new Error('the database is away'))
  }) as Database['query']
  const recorder = createAttemptRecorder({ ...database, query }, pino({ level: 'silent' }))
  // Figures of long ago are removed.
  const [first, second] = [new Date(Date.now() - 60_000), new Date()]
  const fail = (when: Date): void =>
    recorder.observe({
      destinationId: 'd',
      endpointId: 'unwritten',
      at: when,
      latencyMs: 1,
      durationMs: 1,
      outcome: 'unavailable',
      failure: 'It hangs.',
    })
  fail(first)
  await until('a write is refused', () => refused > 0)
  fail(second)
  isAway = false
  await recorder.stop()
  expect(await readEndpointStates(database, ['unwritten'])).toMatchObject([
    { failingSince: first.toISOString(), lastAttemptAt: second.toISOString() },
  ])
})

it('knows nothing of an endpoint whose URL was corrected a moment ago', async () => {
  const destinations = createDestinationStore(database, createSecretBox([{ id: 'k1', key: Buffer.alloc(32, 7) }]))
  const { id, settings } = await destinations.create({
    name: 'Moved',
    type: 'webhooks',
    enabled: true,
    successPolicy: 'any',
    sourceIds: [],
    settings: { webhooks: [{ url: 'https://before.example.test/' }, { url: 'https://other.example.test/' }] },
  })
  const [moved = '', other = ''] = settings.webhooks.map((webhook) => webhook.id)
  const down = [moved, other].map((endpointId) => ({ endpointId, downSince: at(3), nextProbeAt: at(10) }))
  await writeDownEndpoints(database, 'three', down)
  await writeEndpointHealth(database, [sighting(moved, [null, 1, 3])])
  const urls = [
    { id: moved, url: 'https://after.example.test/' },
    { id: other, url: 'https://other.example.test/' },
  ]
  await destinations.update(id, { settings: { webhooks: urls } })
  expect(await readEndpointStates(database, [moved, other])).toMatchObject([
    { state: 'untried', downSince: null, reason: null },
    { state: 'down' },
  ])
})
