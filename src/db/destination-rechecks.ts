/** Destinations that were resumed, switched off or deleted, and whose waiting deliveries have not all got the message yet. */

import { randomUUID } from 'node:crypto'
import type { Database, Queryable } from './database.ts'

/** Asks for the waiting deliveries of a destination to be told of a change, in the transaction of that change; an earlier order for
 *  the same destination is replaced. */
export async function requestRecheck(tx: Queryable, destinationId: string): Promise<void> {
  await tx.query(
    `insert into destination_rechecks (destination_id, recheck_id) values ($1, $2)
     on conflict (destination_id) do update set recheck_id = excluded.recheck_id`,
    [destinationId, randomUUID()],
  )
}

/** Ids of some orders that are not done: each call answers others, so that none is left behind by those that take long. */
export async function openRechecks(database: Database, limit: number): Promise<string[]> {
  const rows = await database.query<{ recheck_id: string }>(
    'select recheck_id from destination_rechecks order by random() limit $1',
    [limit],
  )
  return rows.map(({ recheck_id }) => recheck_id)
}

/** The destination of an order; undefined when the order is done, or a later one has replaced it. */
export async function destinationToRecheck(database: Database, recheckId: string): Promise<string | undefined> {
  const [row] = await database.query<{ destination_id: string }>(
    'select destination_id from destination_rechecks where recheck_id = $1',
    [recheckId],
  )
  return row?.destination_id
}

export async function endRecheck(database: Database, recheckId: string): Promise<void> {
  await database.query('delete from destination_rechecks where recheck_id = $1', [recheckId])
}
