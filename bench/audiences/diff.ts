/** The comparison alone: a membership against what was acknowledged, on either database. */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { pino } from 'pino'
import { compareWhole } from '../../src/db/audiences-comparison.ts'
import type { Database } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { startPostgres } from '../../test/support/postgres.ts'

export interface Diff {
  seconds: number
  longestStallMs: number
}

export async function measureDiff(
  kind: 'PGlite' | 'PostgreSQL',
  folder: string,
  count: number,
  changed: number,
): Promise<Diff> {
  const logger = pino({ level: 'warn' })
  const postgres = kind === 'PostgreSQL' ? await startPostgres() : undefined
  const database =
    postgres === undefined ? await openPglite(folder, logger) : openPostgres(await postgres.createDatabase(), logger)
  try {
    await migrate(database)
    await fill(database, count, changed)
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const startedAt = performance.now()
    const counts = await compareWhole(database, '1', { link: 1, destinationId: 'dst' }, '1', false)
    const seconds = (performance.now() - startedAt) / 1000
    delay.disable()
    if (counts.added !== changed / 2 || counts.removed !== changed / 2) throw new Error(JSON.stringify(counts))
    return { seconds, longestStallMs: delay.max / 1e6 }
  } finally {
    await database.close()
    await postgres?.stop()
  }
}

/** Half of the changed users are new, half of them gone. */
async function fill(database: Database, count: number, changed: number): Promise<void> {
  const half = changed / 2
  const step = 50_000
  for (let start = 0; start < count + half; start += step) {
    const end = Math.min(start + step, count + half) - 1
    const user = `lpad(to_hex((n::bigint * 2654435761) % 4294967296), 8, '0') || '-' || n`
    await database.query(
      `insert into audience_rows (load, user_id, present)
       select 1, ${user}, true from generate_series($1::int, $2::int) n where n >= $3 order by 2`,
      [start, end, half],
    )
    await database.query(
      `insert into audience_acknowledged (link, user_id)
       select 1, ${user} from generate_series($1::int, $2::int) n where n < $3 order by 2`,
      [start, end, count],
    )
  }
  await database.query('analyze audience_rows')
  await database.query('analyze audience_acknowledged')
}
