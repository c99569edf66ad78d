/** What a membership changes at each destination, against what was acknowledged there: set operations in SQL, range by
 *  range. */

import type { AudienceLink } from '../contracts/audience-sync.ts'
import type { Database, Queryable } from './database.ts'
import { userRanges } from './audiences-staging.ts'

export interface LinkCounts {
  /** Users that became members (or have a new value), which the destination does not know yet. */
  added: number
  removed: number
}

interface CountRow {
  added: string
  removed: string
}

const countInserted = 'select count(*) filter (where present) as added, count(*) filter (where not present) as removed'

/** Begins a comparison anew: what an earlier try of it wrote is removed. */
export async function clearChanges(database: Queryable, sync: string, { link }: AudienceLink): Promise<void> {
  await database.query('delete from audience_changes where sync = $1 and link = $2', [sync, link])
}

/** Compares a whole membership with what a destination acknowledged.
 *  @param full  whether members are sent again that are acknowledged already */

export async function compareWhole(
  database: Queryable,
  sync: string,
  { link }: AudienceLink,
  rowSet: string,
  full: boolean,
): Promise<LinkCounts> {
  const counts = { added: 0, removed: 0 }
  for await (const { after, upTo } of userRanges(database, 'audience_rows', 'load = $1', [rowSet])) {
    const [row] = await database.query<CountRow>(
      `with inserted as (
         insert into audience_changes (sync, link, user_id, present, value, traits, was_present, previous, previous_traits)
         select $1, $2, coalesce(r.user_id, a.user_id), r.user_id is not null, r.value, r.traits,
           a.user_id is not null, a.value, a.traits
         from (select user_id, value, traits from audience_rows
               where load = $3 and present and user_id > $4 and ($5::text is null or user_id <= $5)) r
         full join (select user_id, value, traits from audience_acknowledged
               where link = $2 and user_id > $4 and ($5::text is null or user_id <= $5)) a
           on a.user_id = r.user_id
         where $6 or r.user_id is null or a.user_id is null or r.value is distinct from a.value
         returning present)
       ${countInserted} from inserted`,
      [sync, link, rowSet, after, upTo, full],
    )
    add(counts, row)
  }
  return counts
}

/** Compares only the users that a change names, after it was taken over into the membership. */
export async function compareChanged(
  database: Queryable,
  sync: string,
  { link }: AudienceLink,
  change: string,
  rowSet: string,
): Promise<LinkCounts> {
  const counts = { added: 0, removed: 0 }
  for await (const { after, upTo } of userRanges(database, 'audience_rows', 'load = $1', [change])) {
    const [row] = await database.query<CountRow>(
      `with inserted as (
         insert into audience_changes (sync, link, user_id, present, value, traits, was_present, previous, previous_traits)
         select $1, $2, c.user_id, r.user_id is not null, r.value, r.traits, a.user_id is not null, a.value,
           a.traits
         from audience_rows c
         left join audience_rows r on r.load = $3 and r.user_id = c.user_id and r.present
         left join audience_acknowledged a on a.link = $2 and a.user_id = c.user_id
         where c.load = $4 and c.user_id > $5 and ($6::text is null or c.user_id <= $6)
           and ((r.user_id is null) <> (a.user_id is null) or r.value is distinct from a.value)
         returning present)
       ${countInserted} from inserted`,
      [sync, link, rowSet, change, after, upTo],
    )
    add(counts, row)
  }
  return counts
}

/** Whether a change `c` was news to its destination, and is still what is acknowledged there, `a`. */
const isToldLast = `c.state in (1, 2) and (c.present <> c.was_present or c.value is distinct from c.previous)
  and (a.user_id is not null) = c.present and a.value is not distinct from c.value`

/** Takes back what an earlier sync sent, where that is still what is acknowledged. */
export async function compareUndone(
  database: Queryable,
  sync: string,
  { link }: AudienceLink,
  undone: string,
): Promise<LinkCounts> {
  const counts = { added: 0, removed: 0 }
  for await (const { after, upTo } of userRanges(database, 'audience_changes', 'sync = $1 and link = $2', [
    undone,
    link,
  ])) {
    const [row] = await database.query<CountRow>(
      `with inserted as (
         insert into audience_changes (sync, link, user_id, present, value, traits, was_present, previous, previous_traits)
         select $1, $2, c.user_id, c.was_present, c.previous, c.previous_traits, a.user_id is not null, a.value, a.traits
         from audience_changes c
         left join audience_acknowledged a on a.link = $2 and a.user_id = c.user_id
         where c.sync = $3 and c.link = $2 and c.user_id > $4 and ($5::text is null or c.user_id <= $5) and ${isToldLast}
         returning present)
       ${countInserted} from inserted`,
      [sync, link, undone, after, upTo],
    )
    add(counts, row)
  }
  return counts
}

/** Writes down, for each sync that can be undone, whether anything that it told can still be taken back. Nothing can where later syncs told
 *  something else.
 *  @param undone  the sync that was undone: what those before it told may be what is known again; null: none was */
export async function noteWhatIsLeft(database: Queryable, audienceId: string, undone: string | null): Promise<void> {
  const syncs = await database.query<{ number: string }>(
    `select number from audience_syncs
     where audience_id = $1 and undoable and sent + handed_on > 0 and (told_news or number < $2)`,
    [audienceId, undone],
  )
  const links = await database.query<{ link: number }>(
    'select link from audience_links where audience_id = $1 and destination_id is not null',
    [audienceId],
  )
  for (const { number } of syncs) {
    const isLeft = await isAnythingLeft(
      database,
      number,
      links.map(({ link }) => link),
    )
    await database.query('update audience_syncs set told_news = $2 where number = $1 and told_news <> $2', [
      number,
      isLeft,
    ])
  }
}

async function isAnythingLeft(database: Queryable, sync: string, links: readonly number[]): Promise<boolean> {
  for (const link of links)
    for await (const { after, upTo } of userRanges(database, 'audience_changes', 'sync = $1 and link = $2', [
      sync,
      link,
    ])) {
      const left = await database.query(
        `select 1 from audience_changes c
         left join audience_acknowledged a on a.link = $2 and a.user_id = c.user_id
           and a.user_id > $3 and ($4::text is null or a.user_id <= $4)
         where c.sync = $1 and c.link = $2 and c.user_id > $3 and ($4::text is null or c.user_id <= $4) and ${isToldLast}
         limit 1`,
        [sync, link, after, upTo],
      )
      if (left.length > 0) return true
    }
  return false
}

function add(counts: LinkCounts, row: CountRow | undefined): void {
  counts.added += Number(row?.added ?? 0)
  counts.removed += Number(row?.removed ?? 0)
}

/** Users that were acknowledged at a destination. */
export async function countAcknowledged(database: Queryable, { link }: AudienceLink): Promise<number> {
  const [row] = await database.query<{ count: string }>('select count(*) from audience_acknowledged where link = $1', [
    link,
  ])
  return Number(row?.count ?? 0)
}

/** How many users a sync changes: a user that goes to two destinations counts once. */
export async function countChangedUsers(database: Queryable, sync: string): Promise<LinkCounts> {
  const [row] = await database.query<CountRow>(
    `select count(distinct user_id) filter (where present) as added,
       count(distinct user_id) filter (where not present) as removed
     from audience_changes where sync = $1`,
    [sync],
  )
  return { added: Number(row?.added ?? 0), removed: Number(row?.removed ?? 0) }
}

/** Of how many members of a row set a sync tells something. */
export async function countToldMembers(database: Queryable, sync: string, rowSet: string): Promise<number> {
  const [row] = await database.query<{ count: string }>(
    `select count(distinct c.user_id) filter (where r.present)
     from audience_changes c left join audience_rows r on r.load = $2 and r.user_id = c.user_id
     where c.sync = $1`,
    [sync, rowSet],
  )
  return Number(row?.count ?? 0)
}

/** Writes a change into the audience's membership, made when it has none yet.
 *  @returns the row set of the membership, and how many it has now */
export async function takeOverChange(
  database: Database,
  audienceId: string,
  change: string,
): Promise<{ rowSet: string; members: number }> {
  return database.transaction(async (tx) => {
    const [made] = await tx.query<{ load: string }>(
      `with made as (insert into audience_loads (audience_id, complete)
         select id, true from audiences where id = $1 and load is null returning load)
       update audiences set load = coalesce(load, (select load from made)) where id = $1 returning load`,
      [audienceId],
    )
    const rowSet = made?.load ?? ''
    await tx.query(
      `delete from audience_rows where load = $1
         and user_id = any(array(select user_id from audience_rows where load = $2 and not present))`,
      [rowSet, change],
    )
    await tx.query(
      `insert into audience_rows (load, user_id, present, value, traits)
       select $1, user_id, true, value, traits from audience_rows where load = $2 and present
       on conflict (load, user_id) do update set value = excluded.value, traits = excluded.traits`,
      [rowSet, change],
    )
    return { rowSet, members: await recountMembers(tx, audienceId) }
  })
}

/** Whether a destination that the undo `$2` tells nothing of the removal of its user `c` knows that user as a member of the audience `$3`. */
const isKnownElsewhere = `exists (
  select 1 from audience_acknowledged a join audience_links l on l.link = a.link
  where l.audience_id = $3 and l.destination_id is not null and a.user_id = c.user_id
    and not exists (select 1 from audience_changes o
      where o.sync = $2 and o.link = a.link and o.user_id = c.user_id and not o.present))`

/** Takes the changes of an undo over into the membership; the next pull is not spared by its ETag. */
export async function takeOverUndo(
  database: Database,
  audienceId: string,
  sync: string,
  rowSet: string,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(
      `delete from audience_rows where load = $1
         and user_id = any(array(select c.user_id from audience_changes c
           where c.sync = $2 and not c.present and not ${isKnownElsewhere}))`,
      [rowSet, sync, audienceId],
    )
    await tx.query(
      `insert into audience_rows (load, user_id, present, value, traits)
       select distinct on (user_id) $1::bigint, user_id, true, value, traits
       from audience_changes where sync = $2 and present
       on conflict (load, user_id) do update
         set value = excluded.value, traits = coalesce(excluded.traits, audience_rows.traits)`,
      [rowSet, sync],
    )
    await tx.query('update audiences set etag = null where id = $1', [audienceId])
    await recountMembers(tx, audienceId)
  })
}

/** Counts the members of an audience anew, in the transaction that changes them: the number is always that of the rows. */
async function recountMembers(tx: Queryable, audienceId: string): Promise<number> {
  const [row] = await tx.query<{ members: string }>(
    `update audiences a set members = (select count(*) from audience_rows where load = a.load and present)
     where id = $1 returning members`,
    [audienceId],
  )
  return Number(row?.members ?? 0)
}

/** Makes a row set the audience's membership; refused ones can no longer be confirmed. */
export async function takeOverMembership(
  database: Database,
  audienceId: string,
  membership: { rowSet: string; members: number; etag: string | null; sync: string },
): Promise<void> {
  const { rowSet, members, etag, sync } = membership
  await database.transaction(async (tx) => {
    await tx.query('update audiences set load = $2, members = $3, etag = $4 where id = $1', [
      audienceId,
      rowSet,
      members,
      etag,
    ])
    await tx.query(
      `update audience_syncs set load = null where audience_id = $1 and status = 'refused' and number < $2`,
      [audienceId, sync],
    )
  })
}
