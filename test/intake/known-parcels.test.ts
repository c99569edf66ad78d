import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createKnownParcels } from '../../src/intake/known-parcels.ts'
import { until } from '../support/wait.ts'

let folder: string
let database: Database
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  database = await openPglite(folder, pino({ level: 'error' }))
  await migrate(database)
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

/** Puts one event into a parcel, as any node may. */
async function makeParcel(sourceId: string, eventId: string): Promise<void> {
  await database.query(
    `insert into parcels (id, source_id, destination_ids, types, first_seq, last_seq, first_at, last_at)
     values ($1, $2, '{}', '{track}', 1, 1, now(), now())`,
    [`parcel/${eventId}`, sourceId],
  )
  await database.query(
    `insert into parcel_events (parcel_id, place, event_id, seq, source_id, destination_ids, message_id, type, received_at)
     values ($1, 0, $2, 1, $3, '{}', 'm', 'track', now())`,
    [`parcel/${eventId}`, eventId, sourceId],
  )
}

/** Look-ups, and the statements that they asked the database. */
function lookUps() {
  const statements: string[] = []
  const watched: Database = {
    ...database,
    query: (sql, values) => {
      statements.push(sql)
      return database.query(sql, values)
    },
  }
  const lookedUp = () => statements.filter((sql) => sql.includes('from parcel_events')).length
  return { known: createKnownParcels(watched), lookedUp }
}

it('finds the events of parcels that were made before and by other nodes', async () => {
  await makeParcel('before', 'e1')
  const { known } = lookUps()
  expect(await known.among('before', ['e1', 'e2'])).toEqual(new Set(['e1']))
  expect(await known.among('later', ['e3'])).toEqual(new Set())
  await makeParcel('later', 'e3')
  await until('it is found', async () => (await known.among('later', ['e3'])).has('e3'), 10_000)
})

it('asks nothing for a source of which no event is in a parcel, however many others have some', async () => {
  await makeParcel('flooded', 'f1')
  const { known, lookedUp } = lookUps()
  for (let n = 0; n < 10; n++) {
    expect(await known.among('quiet', [`q${n}`])).toEqual(new Set())
    await sleep(20)
  }
  expect(lookedUp()).toBe(0)
  known.noteMade(['quiet'])
  await known.among('quiet', ['q11'])
  expect(lookedUp()).toBe(1)
})
