/** Makes the room of deleted and replaced rows free for new ones, which PostgreSQL does by itself (autovacuum) and the embedded database does
 *  not: it would grow with every event, for ever. */

import { keepLooking, type Looking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'
import type { Queryable } from './database.ts'

/** A table is cleaned up when so many of its rows are dead, and as large a share of all: the thresholds of autovacuum, with more rows, as no
 *  other statement runs meanwhile. */
const manyDead = 5_000
const deadShare = 0.2

/** Between two looks, in milliseconds. */
const lookMs = 60_000

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

/** Looks once a minute. */
export function reclaimSpace(database: Queryable, logger: Logger): Pick<Looking, 'stop'> {
  const look = async (): Promise<void> => void (await reclaimOnce(database))
  return keepLooking({ look, failure: 'database.space_not_reclaimed', pauseMs: lookMs, beginsLater: true, logger })
}
