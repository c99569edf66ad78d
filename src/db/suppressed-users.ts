/** Users to whom nothing goes out any more, as hashes. */

import type { Queryable } from './database.ts'
import { hashesIn, userHashes } from './user-hashes.ts'

/** Most hashes: each node keeps them in memory, about 100 bytes each. */
export const maxSuppressed = 1_000_000

/** A number that no other advisory lock on the database has. */
const advisoryLock = 7_766_351_002

/** Until the end of the transaction nobody else changes who is suppressed. */
export async function lockSuppressed(tx: Queryable): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock])
}

/** Suppresses users; those who are suppressed already stay so. The numbers rise in the order in which they become visible,
 *  so that `suppressedAfter` misses none.
 *  @param scope  ids of the sources that they are users of; null: of all sources, and of the audiences */
export async function addSuppressed(
  tx: Queryable,
  scope: readonly string[] | null,
  userIds: readonly string[],
): Promise<void> {
  await lockSuppressed(tx)
  await tx.query(`insert into suppressed_users (hash) select unnest(${hashesIn('$1')}) on conflict (hash) do nothing`, [
    userHashes(scope, userIds),
  ])
}

export async function countSuppressed(database: Queryable): Promise<number> {
  const [row] = await database.query<{ count: string }>('select count(*) as count from suppressed_users')
  return Number(row?.count ?? 0)
}

/** The next hashes behind a number, `limit` at most. */
export async function suppressedAfter(
  database: Queryable,
  number: string,
  limit: number,
): Promise<{ number: string; hash: Buffer }[]> {
  return database.query('select number, hash from suppressed_users where number > $1 order by number limit $2', [
    number,
    limit,
  ])
}
