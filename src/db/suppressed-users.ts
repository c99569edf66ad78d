/** Users whose events are dropped at the door, as hashes. */

import { hash } from 'node:crypto'
import type { Queryable } from './database.ts'

/** Most hashes: each node keeps them in memory, about 100 bytes each. */
export const maxSuppressed = 1_000_000

/** Any number of ours that no other advisory lock has. */
const advisoryLock = 7_766_351_002

const hashBytes = 16

/** What stands for a user of a source, or of all sources when there is none. */
export const suppressionHash = (sourceId: string | undefined, userId: string): Buffer =>
  hash('sha256', `${sourceId ?? ''}\n${userId}`, 'buffer').subarray(0, hashBytes)

/** Adds hashes; one that is there already is left as it is. Their numbers rise in the order in which they become visible,
 *  so that `suppressedAfter` misses none. */
export async function addSuppressed(tx: Queryable, hashes: readonly Buffer[]): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock])
  await tx.query(
    `insert into suppressed_users (hash) select decode(h, 'hex') from unnest($1::text[]) as h on conflict (hash) do nothing`,
    [hashes.map((one) => one.toString('hex'))],
  )
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
