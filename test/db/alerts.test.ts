/** Alerts in the database: what is kept of them. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { removeOldAlerts } from '../../src/db/alerts.ts'
import type { Database } from '../../src/db/database.ts'
import { openPglite } from '../../src/db/pglite.ts'

let folder: string
let database: Database
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-alerts-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  database = await openPglite(folder, pino({ level: 'error' }))
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

it('keeps open alerts, those of which is still to be told, and the newest 1,000', async () => {
  await database.query(
    `insert into alerts (id, kind, subject, name, reason, path, created_at, closed_at, closing_handed)
     select 'alert_' || n, 'inbox_old', 'inbox_' || n, 'Inbox', 'it waits', '/', now() - make_interval(mins => n),
       case when n <> 1200 then now() end, n <> 1199
     from generate_series(1, 1200) as n`,
  )
  await removeOldAlerts(database)
  const kept = await database.query<{ id: string }>('select id from alerts order by created_at desc')
  expect(kept).toHaveLength(1_002)
  expect(kept.map(({ id }) => id).slice(-3)).toEqual(['alert_1000', 'alert_1199', 'alert_1200'])
  await removeOldAlerts(database)
  expect(await database.query('select id from alerts')).toHaveLength(1_002)
})
