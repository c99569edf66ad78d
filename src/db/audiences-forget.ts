/** Takes users off all audiences without a call to the destinations: these get a request to delete the users. */

import type { Database, Queryable } from './database.ts'

/** Removes the users' memberships, what destinations acknowledged of them, and changes that are still to be sent. A later
 *  upload or pull that has them adds them again. */
export async function forgetMembers(database: Database, userIds: readonly string[]): Promise<void> {
  const users = [[...userIds]]
  await database.transaction(async (tx) => {
    await tx.query(
      `with gone as (
         delete from audience_rows r using audience_loads l
         where r.load = l.load and r.user_id = any($1::text[]) returning r.load, r.present),
       counts as (select load, count(*) as members from gone where present group by load)
       update audiences a set members = greatest(a.members - counts.members, 0) from counts where a.load = counts.load`,
      users,
    )
    await tx.query(
      `delete from audience_changes c using audience_syncs s, audience_links l
       where c.sync = s.number and c.link = l.link and l.audience_id = s.audience_id and c.user_id = any($1::text[])`,
      users,
    )
    for (const table of ['audience_acknowledged', 'audience_handed_on'])
      await tx.query(
        `delete from ${table} t using audience_links l where t.link = l.link and t.user_id = any($1::text[])`,
        users,
      )
  })
}

/** Makes syncs read what they have to tell anew: what they have read may be about users that were taken off since. */
export async function noteForget(database: Queryable): Promise<void> {
  await database.query('update audience_forgets set times = times + 1')
}

/** How often users were taken off the audiences so far, and how often suppressions were lifted. */
export async function countForgets(database: Queryable): Promise<{ forgets: string; lifts: string }> {
  const [row] = await database.query<{ forgets: string; lifts: string }>(
    'select times as forgets, lifts from audience_forgets',
  )
  return row ?? { forgets: '0', lifts: '0' }
}
