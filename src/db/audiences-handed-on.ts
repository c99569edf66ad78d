/** Changes of audiences whose calls failed and got deliveries of their own: counted as acknowledged until that delivery fails. */

import type { Database, Queryable } from './database.ts'

export interface HandedOn {
  link: number
  userId: string
  workflowId: string
}

const columns = `h.link, h.user_id as "userId", h.workflow_id as "workflowId"`

/** A page of the changes of an audience that were handed on, by destination and user. */
export async function handedOnPage(
  database: Queryable,
  audienceId: string,
  after: { link: number; userId: string },
  limit: number,
): Promise<HandedOn[]> {
  return database.query<HandedOn>(
    `select ${columns} from audience_handed_on h join audience_links l on l.link = h.link
     where l.audience_id = $1 and (h.link, h.user_id) > ($2::int, $3) order by h.link, h.user_id limit $4`,
    [audienceId, after.link, after.userId, limit],
  )
}

/** Changes that were handed on and whose user has a newer change in this sync: the old news must not arrive after the new. */
export async function outdatedHandedOn(database: Queryable, sync: string, limit: number): Promise<HandedOn[]> {
  return database.query<HandedOn>(
    `select ${columns} from audience_handed_on h
     join audience_changes c on c.link = h.link and c.user_id = h.user_id and c.sync = $1
     where h.sync <> $1 limit $2`,
    [sync, limit],
  )
}

export async function forgetHandedOn(database: Queryable, { link, userId, workflowId }: HandedOn): Promise<void> {
  await database.query('delete from audience_handed_on where link = $1 and user_id = $2 and workflow_id = $3', [
    link,
    userId,
    workflowId,
  ])
}

/** Takes back a change whose delivery failed: what was acknowledged before it stands again, so that the next sync sends the change
 *  once more. */
export async function takeBack(database: Database, { link, userId, workflowId }: HandedOn): Promise<void> {
  await database.query(
    `with failed as (
       delete from audience_handed_on where link = $1 and user_id = $2 and workflow_id = $3
       returning link, user_id, sync, was_present, previous, previous_traits),
     restored as (
       insert into audience_acknowledged (link, user_id, value, traits)
       select link, user_id, previous, previous_traits from failed where was_present
       on conflict (link, user_id) do update set value = excluded.value, traits = excluded.traits),
     removed as (
       delete from audience_acknowledged a using failed f
       where a.link = f.link and a.user_id = f.user_id and not f.was_present),
     no_longer_in_step as (
       update audience_links l set in_step = false from failed f where l.link = f.link),
     change as (
       update audience_changes c set state = 3 from failed f
       where c.sync = f.sync and c.link = f.link and c.user_id = f.user_id)
     update audience_syncs s set handed_on = handed_on - 1, failed = s.failed + 1
     from failed f where s.number = f.sync`,
    [link, userId, workflowId],
  )
}
