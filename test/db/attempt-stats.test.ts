/** How long deliveries took, as nodes of this version and of the one before write it. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { sumBuckets } from '../../src/db/attempt-stats.ts'
import type { Database } from '../../src/db/database.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createAttemptRecorder } from '../../src/observation/attempts.ts'
import { emptyBuckets, percentile } from '../../src/observation/latency-buckets.ts'

let folder: string
let database: Database

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-stats-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  database = await openPglite(folder, pino({ level: 'error' }))
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

/** Figures of long ago are removed. */
const at = new Date(Math.floor(Date.now() / 60_000) * 60_000)

async function record(destinationId: string, latenciesMs: readonly number[]): Promise<void> {
  const recorder = createAttemptRecorder(database, pino({ level: 'silent' }))
  const attempt = { destinationId, endpointId: destinationId, at, durationMs: 20, outcome: 'delivered' } as const
  for (const latencyMs of latenciesMs) recorder.observe({ ...attempt, latencyMs })
  await recorder.stop()
}

async function told(destinationId: string, share: number): Promise<number | null> {
  const range = { since: at, until: new Date(at.getTime() + 60_000), destinationIds: [destinationId] }
  const [latency, slow] = await Promise.all([
    sumBuckets(database, 'latency', range),
    sumBuckets(database, 'slow_latency', range),
  ])
  return percentile(latency, share, slow)
}

it('tells a delivery that took 100 seconds as one of about 100 seconds', async () => {
  await record('backlog', [100_000])
  for (const share of [0.5, 0.95]) {
    expect(await told('backlog', share)).toBeGreaterThan(90_000)
    expect(await told('backlog', share)).toBeLessThanOrEqual(120_000)
  }
})

it('adds up what several writes of a minute tell, with slow deliveries or without', async () => {
  for (const latencies of [[50], [100_000, 100_000], [60], [100_000, 70]]) await record('mixed', latencies)
  expect(await told('mixed', 0.5)).toBe(100)
  expect(await told('mixed', 0.95)).toBeGreaterThan(90_000)
  expect(await told('mixed', 0.95)).toBeLessThanOrEqual(120_000)
})

it('goes on where a node of the version before adds to the same minute', async () => {
  const bucketOfMinutes = 15
  const earlier = emptyBuckets().map((_, bucket) => (bucket === bucketOfMinutes ? 1 : 0))
  const writeEarlier = (): Promise<unknown> =>
    database.query(
      `insert into attempt_stats (minute, endpoint_id, destination_id, delivered, failed, latency, durations)
       values ($1, 'both', 'both', 1, 0, string_to_array($2, ',')::bigint[], string_to_array($2, ',')::bigint[])
       on conflict (minute, endpoint_id) do update set
         latency = (select array_agg(a + b order by position)
           from unnest(attempt_stats.latency, excluded.latency) with ordinality as bucket(a, b, position))`,
      [at, earlier.join(',')],
    )
  await writeEarlier()
  expect(await told('both', 1)).toBe(300_000)
  await record(
    'both',
    Array.from({ length: 98 }, () => 100_000),
  )
  await writeEarlier()
  expect(await told('both', 0.5)).toBeGreaterThan(90_000)
  expect(await told('both', 0.5)).toBeLessThanOrEqual(120_000)
  expect(await told('both', 1)).toBe(300_000)
})
