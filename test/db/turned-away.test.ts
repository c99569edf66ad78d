import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, inject, it } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { keptPerSource, listTurnedAway, removeSurplus, removeTurnedAwayBefore } from '../../src/db/turned-away.ts'
import { keepTurnedAway } from '../../src/intake/turned-away.ts'

const logger = pino({ level: 'error' })

it('keeps the newest 10,000 events of a source, for a day, and of a burst the newest', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-db-'))
  await cp(inject('databaseTemplate'), folder, { recursive: true })
  const database = await openPglite(folder, logger)
  try {
    await migrate(database)
    const insert = (source: string, events: number, age: string) =>
      database.query(
        `insert into turned_away (id, at, source_id, fate) select $1 || number, now() - $3::interval, $1, 'filtered'
         from generate_series(1, $2::int) as number`,
        [source, events, age],
      )
    const count = async (source: string): Promise<unknown> =>
      (await database.query('select count(*)::int as events from turned_away where source_id = $1', [source]))[0]
    await insert('old', 5, '25 hours')
    await insert('busy', keptPerSource + 300, '1 minute')
    await removeSurplus(database, ['busy', 'old'])
    await removeTurnedAwayBefore(database, new Date(Date.now() - 24 * 3_600_000))
    expect([await count('busy'), await count('old')]).toEqual([{ events: keptPerSource }, { events: 0 }])
    const newest = await listTurnedAway(database, { sourceId: 'busy' }, { limit: 1 })
    expect(newest.items[0]?.id).toBe(`busy${keptPerSource + 300}`)

    const turnedAway = keepTurnedAway(database, logger)
    for (let number = 1; number <= 500; number++) {
      const live = {
        at: new Date().toISOString(),
        type: 'track',
        event: 'a\0\ud800',
        userId: null,
        messageId: `m${number}`,
        fate: 'filtered' as const,
        turnedAwayId: `burst${number}`,
      }
      turnedAway.keep({ sourceId: 'burst', live, message: undefined, body: { text: 'x'.repeat(40_000) } })
    }
    await turnedAway.stop()
    const burst = await listTurnedAway(database, { sourceId: 'burst' }, { limit: 1_000 })
    expect(burst.items.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, index) => `burst${500 - index}`))
    expect(await database.query('select max(length(body)) as longest from turned_away')).toEqual([{ longest: 32_768 }])
  } finally {
    await database.close()
    await rm(folder, { recursive: true, force: true })
  }
})
