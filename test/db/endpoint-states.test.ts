/** What several nodes say of endpoints that are down, as one state. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { writeEndpointHealth } from '../../src/db/attempt-stats.ts'
import type { Database } from '../../src/db/database.ts'
import { readEndpointStates, writeDownEndpoints } from '../../src/db/endpoint-states.ts'
import { openPglite } from '../../src/db/pglite.ts'

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
  const health = { destinationId: 'd', observedAt: at(9), failingSince: at(1), reason: 'It hangs.', succeeded: false }
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
    downSince: at(2).toISOString(),
    nextProbeAt: at(10).toISOString(),
    downOnNodes: 2,
  })
  // One of them would send a probe at once.
  expect(e2).toMatchObject({ state: 'down', downSince: at(3).toISOString(), nextProbeAt: null, downOnNodes: 2 })
  expect(e3).toMatchObject({ state: 'untried', downOnNodes: 0 })

  await writeDownEndpoints(database, 'two', [{ endpointId: 'e2', downSince: at(4), nextProbeAt: null }])
  expect(await readEndpointStates(database, ['e1'])).toMatchObject([{ downSince: at(3).toISOString(), downOnNodes: 1 }])
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
