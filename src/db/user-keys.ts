/** Data keys of users, sealed with the key ring: what Temporal has of a user's events is sealed with them. */

import { audienceIdPrefix } from '../contracts/names.ts'
import type { Queryable } from './database.ts'

/** A user of a source, or of an audience that stands in its place. */
export interface KeyOwner {
  sourceId: string
  /** Keyed hash of the user id. */
  userHash: string
}

/** A key, and whose it is. */
export interface StoredKey extends KeyOwner {
  id: string
  encrypted: string
}

const columns = `id, source_id as "sourceId", user_hash as "userHash", key_encrypted as encrypted`

/** How often it is asked again for keys that other nodes were making. */
const maxRounds = 5

/** How exactly the last use of a key is known, in hours: no more often is it written down. */
export const useNotedHours = 12

/** The keys in use of some users, in no order: those who have none get the key that is given for them. Who keeps one in memory asks again
 *  after `useNotedHours`, so that it counts as used.
 *  @param given  one for each user */
export async function ensureUserKeys(database: Queryable, given: readonly StoredKey[]): Promise<StoredKey[]> {
  const found: StoredKey[] = []
  let missing = [...given]
  for (let round = 0; missing.length > 0; round++) {
    if (round === maxRounds) throw new Error('the keys of users change all the time')
    found.push(...(await readOrMake(database, missing)))
    const known = new Set(found.map(nameOf))
    missing = missing.filter((key) => !known.has(nameOf(key)))
  }
  return found
}

const nameOf = ({ sourceId, userHash }: KeyOwner): string => `${userHash} ${sourceId}`

/** SQL: the use of it is to be noted. */
const isStale = `k.used_at < now() - interval '${useNotedHours} hours'`

/** One that another node makes at the same time, or whose use it notes, is neither read nor made. Of those that were not used for long only
 *  what is still there when it is noted counts: they may be going. */
const readOrMake = (database: Queryable, keys: readonly StoredKey[]): Promise<StoredKey[]> =>
  database.query(
    `with wanted as (
       select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as w(id, source_id, user_hash, key_encrypted)),
     known as (
       select k.* from user_keys k join wanted w using (source_id, user_hash) where k.request_id is null and not ${isStale}),
     stale as (
       select k.id from user_keys k join wanted w using (source_id, user_hash) where k.request_id is null and ${isStale}
       order by k.user_hash, k.source_id for update of k),
     noted as (update user_keys set used_at = now() where id in (select id from stale) returning *),
     made as (
       insert into user_keys (id, source_id, user_hash, key_encrypted)
       select * from wanted w
       where not exists (
         select from (select * from known union all select * from noted) as k
         where k.source_id = w.source_id and k.user_hash = w.user_hash)
       order by user_hash, source_id
       on conflict (user_hash, source_id) where request_id is null do nothing
       returning *)
     select ${columns} from known union all select ${columns} from noted union all select ${columns} from made`,
    [
      keys.map(({ id }) => id),
      keys.map(({ sourceId }) => sourceId),
      keys.map(({ userHash }) => userHash),
      keys.map(({ encrypted }) => encrypted),
    ],
  )

/** Keys by their ids; those that were destroyed are left out. */
export const readUserKeys = (database: Queryable, ids: readonly string[]): Promise<StoredKey[]> =>
  database.query(`select ${columns} from user_keys where id = any($1::text[])`, [[...ids]])

/** Takes the keys of users out of use, to be destroyed by a deletion request.
 *  @param scope  of these sources and of the audiences; null: of all */
export async function retireUserKeys(
  database: Queryable,
  requestId: string,
  scope: readonly string[] | null,
  userHashes: readonly string[],
): Promise<void> {
  await database.query(
    `update user_keys set request_id = $1 where request_id is null and user_hash = any($2::text[])
       and ($3::text[] is null or source_id = any($3) or starts_with(source_id, $4))`,
    [requestId, [...userHashes], scope && [...scope], audienceIdPrefix],
  )
}

/** Destroys the keys of a deletion request, and adds to it how many they were: a repeat finds none. */
export async function destroyKeysOf(database: Queryable, requestId: string): Promise<void> {
  await database.query(
    `with gone as (delete from user_keys where request_id = $1 returning 1)
     update deletion_requests set keys = keys + (select count(*) from gone) where id = $1`,
    [requestId],
  )
}

/** Removes keys that were last used before a moment, and answers how many. Those that a deletion request is to destroy stay for it to
 *  count. */
export async function removeUnusedKeys(database: Queryable, before: Date): Promise<number> {
  const gone = await database.query('delete from user_keys where request_id is null and used_at < $1 returning 1', [
    before,
  ])
  return gone.length
}
