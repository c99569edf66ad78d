/** Removes what audiences no longer need. */

import type { Database } from './database.ts'
import { deleteInRanges, dropRowSet } from './audiences-staging.ts'

/** Latest syncs of an audience that changed something and whose changes are kept, so that they can be undone. */
export const undoableSyncs = 5
/** Past syncs that are kept for the list. */
export const keptSyncs = 1_000
/** Size of a deletion, in ranges of staged rows, from which on a clean-up of the tables follows. */
const vacuumAfterRanges = 3

/** Removes memberships that nothing refers to, changes that are too old to be undone, syncs beyond those that are kept, and
 *  acknowledgements of deleted destinations. */
export async function purgeAudience(database: Database, audienceId: string): Promise<void> {
  const unused = await database.query<{ load: string }>(
    // An upload that was cut off with its node is left behind incomplete.
    `select load from audience_loads l where audience_id = $1 and (complete or touched_at < now() - interval '1 hour')
       and not exists (select 1 from audience_syncs s where s.audience_id = $1 and s.load = l.load)
       and not exists (select 1 from audiences a where a.id = $1 and a.load = l.load)`,
    [audienceId],
  )
  let ranges = await dropOldChanges(database, audienceId)
  for (const { load } of unused) ranges += await dropRowSet(database, load)
  await database.query(
    `delete from audience_syncs where audience_id = $1 and not undoable and number < (
       select number from audience_syncs where audience_id = $1 order by number desc offset ${keptSyncs} limit 1)`,
    [audienceId],
  )
  const orphans = await database.query<{ link: number }>(
    'select link from audience_links where audience_id = $1 and destination_id is null',
    [audienceId],
  )
  for (const { link } of orphans) await dropLink(database, audienceId, link)
  if (ranges >= vacuumAfterRanges) await vacuum(database)
}

/** Cleans up after a large deletion: the embedded database does not do it by itself. */
async function vacuum(database: Database): Promise<void> {
  for (const table of ['audience_rows', 'audience_changes', 'audience_acknowledged'])
    await database.query(`vacuum (analyze) ${table}`)
}

async function dropOldChanges(database: Database, audienceId: string): Promise<number> {
  let ranges = 0
  const syncs = await database.query<{ number: string }>(
    `select number from audience_syncs where audience_id = $1 and undoable and status not in ('running', 'waiting')
       and number <= (select number from audience_syncs where audience_id = $1 and sent + handed_on > 0
         order by number desc offset ${undoableSyncs} limit 1)`,
    [audienceId],
  )
  const links = await database.query<{ link: number }>('select link from audience_links where audience_id = $1', [
    audienceId,
  ])
  for (const { number } of syncs) {
    for (const { link } of links)
      ranges += await deleteInRanges(database, 'audience_changes', 'sync = $1 and link = $2', [number, link])
    await database.query('update audience_syncs set undoable = false where number = $1', [number])
  }
  return ranges
}

/** Removes an audience with all its data. */
export async function dropAudience(database: Database, audienceId: string): Promise<void> {
  const rowSets = await database.query<{ load: string }>('select load from audience_loads where audience_id = $1', [
    audienceId,
  ])
  for (const { load } of rowSets) await dropRowSet(database, load)
  const links = await database.query<{ link: number }>('select link from audience_links where audience_id = $1', [
    audienceId,
  ])
  for (const { link } of links) await dropLink(database, audienceId, link)
  await database.query('delete from audiences where id = $1', [audienceId])
  await database.query('delete from audience_syncs where audience_id = $1', [audienceId])
}

async function dropLink(database: Database, audienceId: string, link: number): Promise<void> {
  await deleteInRanges(database, 'audience_acknowledged', 'link = $1', [link])
  const syncs = await database.query<{ number: string }>('select number from audience_syncs where audience_id = $1', [
    audienceId,
  ])
  for (const { number } of syncs)
    await deleteInRanges(database, 'audience_changes', 'sync = $1 and link = $2', [number, link])
  await database.query('delete from audience_handed_on where link = $1', [link])
  await database.query('delete from audience_links where link = $1', [link])
}
