/** Makes the room of deleted and replaced rows free for new ones, and that of the write-ahead log, which PostgreSQL does by itself (autovacuum,
 *  checkpointer) and the embedded database does not: it would grow with every event, for ever. */

import { keepLooking, type Looking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'
import type { Queryable } from './database.ts'

/** A table is cleaned up when so many of its rows are dead, and as large a share of all: the thresholds of autovacuum, with more rows, as no
 *  other statement runs meanwhile. */
const manyDead = 5_000
const deadShare = 0.2

/** What may be in the write-ahead log, in bytes, before the tables are synced and the log begins anew. A start after a hard kill goes through
 *  all of it; each new beginning makes the log longer, for it has a whole copy of every page that is written for the first time since. */
const mostLogBytes = 256 * 1_048_576

/** Between two looks, in milliseconds. A flood writes 5 MB a second to the log. */
const rowsLookMs = 60_000
const logLookMs = 10_000

/** Cleans up the tables that have many dead rows. @returns their names */
export async function reclaimOnce(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_stat_user_tables
     where n_dead_tup > $1::bigint + $2::float8 * n_live_tup order by n_dead_tup`,
    [manyDead, deadShare],
  )
  for (const { name } of rows) await database.query(`vacuum ${name}`)
  return rows.map(({ name }) => name)
}

/** Begins the write-ahead log anew where it has become long.
 *  @param mostBytes  that may be in it before */
export async function checkpointOnce(database: Queryable, mostBytes: number): Promise<void> {
  const [log] = await database.query<{ isLong: boolean }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) > $1::bigint as "isLong" from pg_control_checkpoint()`,
    [mostBytes],
  )
  if (log?.isLong) await database.query('checkpoint')
}

/** Looks for dead rows once a minute, and at the length of the log each 10 seconds. */
export function reclaimSpace(database: Queryable, logger: Logger): Pick<Looking, 'stop'> {
  const looking = { failure: 'database.space_not_reclaimed', beginsLater: true, logger }
  const looks = [
    keepLooking({ ...looking, look: async () => void (await reclaimOnce(database)), pauseMs: rowsLookMs }),
    keepLooking({ ...looking, look: () => checkpointOnce(database, mostLogBytes), pauseMs: logLookMs }),
  ]
  return {
    async stop() {
      await Promise.all(looks.map((look) => look.stop()))
    },
  }
}
