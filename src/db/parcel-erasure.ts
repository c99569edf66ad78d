/** Removes what the rows of parcels tell of users. Where each event stands stays. */

import type { Queryable } from './database.ts'

/** SQL of progress without what was sent to receivers and what they answered. */
const withoutEvidence = String.raw`regexp_replace(progress::text, ',"(excerpt|evidence)":"([^"\\]|\\.)*"', '', 'g')::json`

/** Removes names of users and events, and answers of receivers.
 *  @param scope  of events of these sources; null: of all
 *  @param before  when they were accepted, at the latest
 *  @returns of how many events */
export async function eraseCarried(
  database: Queryable,
  { scope, userIds, before }: { scope: readonly string[] | null; userIds: readonly string[]; before: Date },
): Promise<number> {
  const rows = await database.query(
    `update parcel_events set erased = true, user_id = null, event = null,
       input = case when ended_at is null then input end, progress = ${withoutEvidence}
     where left(user_id, 255) = any(select left(id, 255) from unnest($1::text[]) as id) and user_id = any($1)
       and ($2::text[] is null or source_id = any($2)) and received_at <= $3
     returning 1`,
    [[...userIds], scope && [...scope], before],
  )
  return rows.length
}
