/** Ends the suppression of users: what they send from then on goes out again. */

import type { Database, Queryable } from './database.ts'
import { lockSuppressed } from './suppressed-users.ts'
import { hashesIn, userHash, userHashes } from './user-hashes.ts'

/** Most hashes of one statement. */
const maxHashes = 10_000

export interface LiftOrder {
  /** Each once. */
  userIds: readonly string[]
  /** Ids of the sources in which it ends; null: everywhere. */
  scope: readonly string[] | null
  /** Ids of all sources. */
  sourceIds: readonly string[]
}

export type Lifting =
  /** How many of the users were suppressed, and how many still are, as they are in all sources and only some were named. */
  | { kind: 'lifted'; lifted: number; remaining: number }
  /** What one of them had sent before the deletion is still being called off. */
  | { kind: 'under_way'; index: number }

export async function liftSuppression(database: Database, { userIds, scope, sourceIds }: LiftOrder): Promise<Lifting> {
  return database.patient.transaction(async (tx) => {
    await lockSuppressed(tx)
    const index = await firstUnderWay(tx, userIds)
    if (index !== undefined) return { kind: 'under_way', index }
    const places = scope ?? [undefined, ...sourceIds]
    const size = Math.ceil(maxHashes / userIds.length)
    const lifted = new Set<string>()
    for (let start = 0; start < places.length; start += size)
      for (const userId of await remove(tx, places.slice(start, start + size), userIds)) lifted.add(userId)
    if (lifted.size > 0) await tx.query('update audience_forgets set lifts = lifts + 1')
    return { kind: 'lifted', lifted: lifted.size, remaining: await countEverywhere(tx, userIds) }
  })
}

/** The first of these users who is still to be done for a request that suppresses. */
async function firstUnderWay(tx: Queryable, userIds: readonly string[]): Promise<number | undefined> {
  const rows = await tx.query<{ userId: string }>(
    `select u.user_id as "userId" from deletion_request_users u join deletion_requests r on r.id = u.request_id
     where r.suppress and u.user_id = any($1::text[])`,
    [[...userIds]],
  )
  const underWay = new Set(rows.map(({ userId }) => userId))
  const index = userIds.findIndex((userId) => underWay.has(userId))
  return index === -1 ? undefined : index
}

/** @param places  ids of sources; undefined: all of them together
 *  @returns users that were suppressed there */
async function remove(
  tx: Queryable,
  places: readonly (string | undefined)[],
  userIds: readonly string[],
): Promise<string[]> {
  const users = new Map(
    places.flatMap((place) => userIds.map((userId) => [userHash(place, userId).toString('hex'), userId])),
  )
  const rows = await tx.query<{ hash: Buffer }>(
    `delete from suppressed_users where hash = any(${hashesIn('$1')}) returning hash`,
    [[...users.keys()]],
  )
  return rows.flatMap(({ hash }) => users.get(hash.toString('hex')) ?? [])
}

/** How many of these users are suppressed in all sources. */
async function countEverywhere(tx: Queryable, userIds: readonly string[]): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    `select count(*) as count from suppressed_users where hash = any(${hashesIn('$1')})`,
    [userHashes(null, userIds)],
  )
  return Number(row?.count ?? 0)
}
