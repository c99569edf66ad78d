import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, inject, it } from 'vitest'
import { nextChanges, recordOutcomes } from '../../src/db/audiences-changes.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'

const logger = pino({ level: 'error' })
const link = { link: 1, destinationId: 'dst' }

const recordsRange = async (kind: 'PGlite' | 'PostgreSQL'): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  const postgres = kind === 'PGlite' ? undefined : await startPostgres()
  const database = postgres ? openPostgres(await postgres.createDatabase(), logger) : await openPglite(folder, logger)
  try {
    await migrate(database)
    // b and c were acknowledged before: one is removed, the other has a new value.
    await database.query(`insert into audience_acknowledged (link, user_id, value) values (1, 'b', '1'), (1, 'c', '1')`)
    await database.query(
      `insert into audience_syncs (id, audience_id, kind, status, phase) values ('s', 'a', 'upload', 'running', 'sending')`,
    )
    await database.query(
      `insert into audience_changes (sync, link, user_id, present, value, was_present, previous) values
         (1, 1, 'a', true, '2', false, null), (1, 1, 'b', false, null, true, '1'), (1, 1, 'c', true, '2', true, '1'),
         (1, 1, 'd', true, '2', false, null), (1, 1, 'e', true, '2', false, null), (1, 1, 'f', true, '2', false, null),
         (1, 1, 'g', true, '2', false, null)`,
    )
    const outcomes = {
      range: { after: '', upTo: 'f' },
      failed: ['d'],
      handedOn: [{ userId: 'e', workflowId: 'w' }],
      withheld: [],
      open: ['f'],
    }
    const totals = { sent: 3, handedOn: 1, failed: 1 }
    expect(await recordOutcomes(database, '1', link, outcomes)).toEqual(totals)
    // A second time, as by an activity that was thought lost, it changes nothing.
    expect(await recordOutcomes(database, '1', link, outcomes)).toEqual(totals)

    expect((await nextChanges(database, '1', link, '', 10)).map(({ userId }) => userId)).toEqual(['f', 'g'])
    expect(await database.query('select user_id, value from audience_acknowledged order by user_id')).toEqual([
      { user_id: 'a', value: '2' },
      { user_id: 'c', value: '2' },
      { user_id: 'e', value: '2' },
    ])
    expect(await database.query('select user_id, workflow_id, was_present from audience_handed_on')).toEqual([
      { user_id: 'e', workflow_id: 'w', was_present: false },
    ])
  } finally {
    await database.close()
    await postgres?.stop()
    await rm(folder, { recursive: true })
  }
}

it('records a range of changes as sent, but for its exceptions on PGlite', () => recordsRange('PGlite'))

it.skipIf(findPostgres() === undefined)(
  'records a range of changes as sent, but for its exceptions on PostgreSQL',
  () => recordsRange('PostgreSQL'),
)
