/** The changes of a sync: what is left to tell, and what became of it. */

import type { Change } from '../audiences/identify.ts'
import type { AudienceLink, SyncTotals } from '../contracts/audience-sync.ts'
import type { Queryable } from './database.ts'

/** What became of the changes to the users of a range: they were sent, but for those listed here. */
export interface ChangeOutcomes {
  /** The user before the first, and the last one. */
  range: { after: string; upTo: string }
  failed: string[]
  handedOn: readonly { userId: string; workflowId: string }[]
  /** Changes for which nothing goes out any more: not sent, and not acknowledged. */
  withheld: string[]
  /** Changes that were not sent yet. */
  open: string[]
}

/** The next open changes of a sync at a destination, in order of their users.
 *  @param after  user id behind which they begin; empty at the beginning */
export async function nextChanges(
  database: Queryable,
  sync: string,
  { link }: AudienceLink,
  after: string,
  limit: number,
): Promise<Change[]> {
  return database.query<Change & { userId: string }>(
    `select user_id as "userId", present, value, traits from audience_changes
     where sync = $1 and link = $2 and state = 0 and user_id > $3 order by user_id limit $4`,
    [sync, link, after, limit],
  )
}

/** Which of some changes are still there and open: an open change was neither sent nor given up. */
export async function openChanges<Some extends { userId: string }>(
  database: Queryable,
  sync: string,
  { link }: AudienceLink,
  changes: readonly Some[],
): Promise<Some[]> {
  const rows = await database.query<{ userId: string }>(
    `select user_id as "userId" from audience_changes
     where sync = $1 and link = $2 and state = 0 and user_id = any($3::text[])`,
    [sync, link, changes.map(({ userId }) => userId)],
  )
  const open = new Set(rows.map(({ userId }) => userId))
  return changes.filter(({ userId }) => open.has(userId))
}

/** Records what became of changes. What was sent, or got a delivery of its own, is acknowledged in the same statement, so
 *  that it is never one without the other. A change that was recorded before stays as it is.
 *
 *  Arrays are looked up in the index, whatever the planner knows of the tables; a join with them might not. A user who was
 *  not acknowledged before is inserted without looking for a conflict, which would double the cost: nobody but this sync
 *  acknowledges since the comparison.
 *  @returns the totals of the sync so far */
export async function recordOutcomes(
  database: Queryable,
  sync: string,
  { link }: AudienceLink,
  { range, failed, handedOn, withheld, open }: ChangeOutcomes,
): Promise<SyncTotals> {
  const [row] = await database.query<Record<keyof SyncTotals, string>>(
    `with recorded as (
       update audience_changes
       set state = case when user_id = any($5::text[]) then 3 when user_id = any($6::text[]) then 2
         when user_id = any($9::text[]) then 4 else 1 end
       where sync = $1 and link = $2 and user_id > $3 and user_id <= $4 and state = 0 and user_id <> all($8::text[])
       returning user_id, present, value, traits, state, was_present, previous, previous_traits),
     first_told as (
       insert into audience_acknowledged (link, user_id, value, traits)
       select $2, user_id, value, traits from recorded where state < 3 and present and not was_present),
     told_again as (
       insert into audience_acknowledged (link, user_id, value, traits)
       select $2, user_id, value, traits from recorded where state < 3 and present and was_present
       on conflict (link, user_id) do update set value = excluded.value, traits = excluded.traits),
     gone as (
       delete from audience_acknowledged where link = $2
         and user_id = any(array(select user_id from recorded where state = 4 or state < 3 and not present))),
     handed as (
       insert into audience_handed_on (link, user_id, sync, workflow_id, was_present, previous, previous_traits)
       select $2, user_id, $1, workflow_id, was_present, previous, previous_traits
       from recorded join unnest($6::text[], $7::text[]) as h(user_id, workflow_id) using (user_id)
       on conflict (link, user_id) do update set sync = excluded.sync, workflow_id = excluded.workflow_id,
         was_present = excluded.was_present, previous = excluded.previous, previous_traits = excluded.previous_traits)
     update audience_syncs set
       sent = sent + (select count(*) from recorded where state = 1),
       handed_on = handed_on + (select count(*) from recorded where state = 2),
       failed = failed + (select count(*) from recorded where state = 3)
     where number = $1
     returning sent, handed_on as "handedOn", failed`,
    [
      sync,
      link,
      range.after,
      range.upTo,
      failed,
      handedOn.map(({ userId }) => userId),
      handedOn.map(({ workflowId }) => workflowId),
      open,
      withheld,
    ],
  )
  return { sent: Number(row?.sent), handedOn: Number(row?.handedOn), failed: Number(row?.failed) }
}

/** Destinations that now have all that the sync had to tell are in step: a later change needs to look at its own users
 *  only.
 *  @param whole  the sync looked at the whole membership wherever a destination was not in step */
export async function noteInStep(
  database: Queryable,
  audienceId: string,
  sync: string,
  { whole }: { whole: boolean },
): Promise<void> {
  await database.query(
    `update audience_links l set in_step = (in_step or $3) and not exists (
       select 1 from audience_changes c where c.sync = $2 and c.link = l.link and c.state in (0, 3))
     where audience_id = $1 and connected`,
    [audienceId, sync, whole],
  )
}
