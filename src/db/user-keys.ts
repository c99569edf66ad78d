/** Data keys of users, sealed with the key ring: what Temporal has of a user's events is sealed with them. */

import { audienceIdPrefix } from '../contracts/names.ts'
import type { Queryable, SqlValue } from './database.ts'

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

/** How often it is asked again for keys that went meanwhile. */
const maxRounds = 5

/** How exactly the last use of a key is known, in hours: no more often is it written down. */
export const useNotedHours = 12

const isStale = `used_at < now() - interval '${useNotedHours} hours'`

/** The keys in use of some users, in no order: those who have none get the key that is given for them. Who keeps one in memory asks again
 *  after `useNotedHours`, so that it counts as used.
 *  @param given  one for each user
 *  @returns what was given, as it is, of those who had none */
export async function ensureUserKeys<Given extends StoredKey>(
  database: Queryable,
  given: readonly Given[],
): Promise<(StoredKey | Given)[]> {
  const found: (StoredKey | Given)[] = []
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

const ofKeys = (keys: readonly StoredKey[], member: keyof StoredKey): string[] => keys.map((key) => key[member])

/** One that goes at the same time may be neither read nor made. */
async function readOrMake<Given extends StoredKey>(
  database: Queryable,
  keys: readonly Given[],
): Promise<(StoredKey | Given)[]> {
  const made = await makeMissing(database, keys)
  const there = keys.filter(({ id }) => !made.has(id))
  const found: (StoredKey | Given)[] = keys.filter(({ id }) => made.has(id))
  if (there.length === 0) return found
  const known = await readInUse(database, there)
  found.push(...known.filter(({ isStale }) => !isStale))
  const stale = known.filter(({ isStale }) => isStale)
  // Only what is still there when it is noted counts: keys that were not used for long may be going.
  if (stale.length > 0) found.push(...(await noteUse(database, ofKeys(stale, 'id'))))
  return found
}

/** SQL of new keys that are made for those users who have none in use; it gives the ids.
 *  @param given  SQL of a table of keys, and of which of them */
const insertInto = (given: string): string => `
  insert into user_keys (id, source_id, user_hash, key_encrypted)
  select id, source_id, user_hash, key_encrypted from ${given}
  order by user_hash, source_id
  on conflict (user_hash, source_id) where request_id is null do nothing
  returning id`

/** SQL of a table of keys that are values of a statement, as `newKeyValues` gives them.
 *  @param first  number of the first of the values */
const givenKeys = (first: number): string => `
  unnest($${first}::text[], $${first + 1}::text[], $${first + 2}::text[], $${first + 3}::text[])
    as given(id, source_id, user_hash, key_encrypted)`

/** SQL of the keys in use of some users. Each is looked up in the index by itself: a join may read the whole table, whose size the planner does
 *  not know.
 *  @param owners  SQL of a table of them, named `owners` */
const inUseOf = (owners: string): string => `
  select found.* from ${owners} cross join lateral (
    select ${columns}, ${isStale} as "isStale" from user_keys
    where user_hash = owners.user_hash and source_id = owners.source_id and request_id is null
    limit 1) as found`

/** The ids come back as one text: rows would cost more, of which there may be many.
 *  @returns the ids of those that were made */
async function makeMissing(database: Queryable, keys: readonly StoredKey[]): Promise<Set<string>> {
  const [row] = await database.query<{ ids: string | null }>(
    `with made as (${insertInto(givenKeys(1))}) select string_agg(id, ' ') as ids from made`,
    newKeyValues(keys),
  )
  return new Set(row?.ids?.split(' '))
}

const readInUse = (database: Queryable, owners: readonly KeyOwner[]): Promise<(StoredKey & { isStale: boolean })[]> =>
  database.query(inUseOf('unnest($1::text[], $2::text[]) as owners(source_id, user_hash)'), [
    owners.map(({ sourceId }) => sourceId),
    owners.map(({ userHash }) => userHash),
  ])

const noteUse = (database: Queryable, ids: string[]): Promise<StoredKey[]> =>
  database.query(
    `update user_keys set used_at = now() where id in (
       select id from user_keys where id = any($1::text[]) and request_id is null order by user_hash, source_id for update)
     returning ${columns}`,
    [ids],
  )

/** What became of new keys that were written with something else: those of users who had none, and the keys that others have. */
export interface WrittenKeys {
  /** Ids. */
  made: string[]
  known: StoredKey[]
}

/** New keys that are written with something else. */
export interface KeyDraft {
  keys: readonly StoredKey[]
  /** To be called when they are written. */
  note: (written: WrittenKeys) => void
}

/** Tables for a statement that writes more, of values that `newKeyValues` gives: `made_keys` are those of users who have none, and `known_keys`
 *  what others have. Neither is there for who gets a key at the same time, nor for whose use must be noted: they are asked for again.
 *  @param first  number of the first of the values */
export const withNewKeys = (first: number): string => `
  given_keys as (select * from ${givenKeys(first)}),
  known_keys as (${inUseOf('given_keys as owners')}),
  made_keys as (${insertInto(`given_keys
    where not exists (
      select from known_keys where "userHash" = given_keys.user_hash and "sourceId" = given_keys.source_id)`)})`

/** SQL of what became of them. */
export const writtenKeys = `json_build_object(
  'made', (select coalesce(json_agg(id), '[]') from made_keys),
  'known', (select coalesce(json_agg(known_keys), '[]') from known_keys where not "isStale"))`

export const newKeyValues = (keys: readonly StoredKey[]): SqlValue[] => [
  ofKeys(keys, 'id'),
  ofKeys(keys, 'sourceId'),
  ofKeys(keys, 'userHash'),
  ofKeys(keys, 'encrypted'),
]

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
