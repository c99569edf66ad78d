/** When users were deleted last, by a request with or without suppression: what began before is not sent again. */

import { audienceIdPrefix } from '../contracts/names.ts'
import type { Queryable } from './database.ts'
import { hashesIn, userHashes } from './user-hashes.ts'

/** How long a deletion is remembered, in days: longer than Temporal keeps what could be sent again. */
const keepDays = 400

/** All audiences together, as one source: users of named sources leave the audiences too. */
const audiences = audienceIdPrefix

/** Notes that users were deleted.
 *  @param scope  of these sources and of the audiences; null: of all
 *  @param at  what began by then was called off */
export async function noteDeleted(
  database: Queryable,
  scope: readonly string[] | null,
  userIds: readonly string[],
  at: Date,
): Promise<void> {
  await database.query(`delete from deleted_users where deleted_at < now() - make_interval(days => $1)`, [keepDays])
  await database.query(
    `insert into deleted_users (hash, deleted_at) select unnest(${hashesIn('$1')}), $2::timestamptz
     on conflict (hash) do update set deleted_at = greatest(deleted_users.deleted_at, excluded.deleted_at)`,
    [userHashes(scope && [...scope, audiences], userIds).sort(), at],
  )
}

/** Whether any of these users was deleted at a moment or later, or is suppressed: what began by then must not be sent again.
 *  @param sourceId  of the source, or of the audience that stands in its place */
export async function isDeletedSince(
  database: Queryable,
  sourceId: string,
  userIds: readonly string[],
  since: Date,
): Promise<boolean> {
  const source = sourceId.startsWith(audienceIdPrefix) ? audiences : sourceId
  const [row] = await database.query<{ deleted: boolean }>(
    `select exists (select 1 from suppressed_users where hash = any(${hashesIn('$1')}))
       or exists (select 1 from deleted_users where hash = any(${hashesIn('$1')}) and deleted_at >= $2) as deleted`,
    [[...userHashes(null, userIds), ...userHashes([source], userIds)], since],
  )
  return row?.deleted === true
}
