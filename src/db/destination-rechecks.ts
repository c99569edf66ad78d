/** Destinations that were resumed, switched off or deleted, and whose waiting deliveries have not all got the message yet. */

import { randomUUID } from 'node:crypto'
import type { Database, Queryable } from './database.ts'

/** In the transaction of the change; takes the place of an earlier one of the same destination. */
export async function requestRecheck(tx: Queryable, destinationId: string): Promise<void> {
  await tx.query(
    `insert into destination_rechecks (destination_id, recheck_id) values ($1, $2)
     on conflict (destination_id) do update set recheck_id = excluded.recheck_id`,
    [destinationId, randomUUID()],
  )
}

/** Ids of some that are not done; others at each look, so that none is left behind by those that take long. */
export async function openRechecks(database: Database, limit: number): Promise<string[]> {
  const rows = await database.query<{ recheck_id: string }>(
    'select recheck_id from destination_rechecks order by random() limit $1',
    [limit],
  )
  return rows.map(({ recheck_id }) => recheck_id)
}

/** @returns undefined when it is done, or a later one has taken its place */
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
