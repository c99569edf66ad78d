/** Staged memberships: the rows of one upload, pull or change. */

import type { MemberRow } from '../audiences/member-row.ts'
import type { Queryable } from './database.ts'

/** Rows that one statement reads or deletes: it holds an embedded database for a fraction of a second. */
const rangeSize = 20_000

/** Makes an empty row set, for the rows of one membership or one change; the column `load` holds its id. It is removed
 *  again when nothing refers to it and nothing was added for an hour.
 *  @returns its id */
export async function createRowSet(database: Queryable, audienceId: string): Promise<string> {
  const [row] = await database.query<{ load: string }>(
    'insert into audience_loads (audience_id) values ($1) returning load',
    [audienceId],
  )
  return row?.load ?? ''
}

/** Adds rows about different users; a row replaces an earlier one about the same user. */
export async function writeRows(database: Queryable, rowSet: string, rows: readonly MemberRow[]): Promise<void> {
  await database.query(
    `with touched as (update audience_loads set touched_at = now() where load = $1)
     insert into audience_rows (load, user_id, present, value, traits)
     select $1, r.* from unnest($2::text[], $3::boolean[], $4::text[], $5::text[]) as r(user_id, present, value, traits)
     on conflict (load, user_id) do update
       set present = excluded.present, value = excluded.value, traits = excluded.traits`,
    [
      rowSet,
      rows.map((row) => row.userId),
      rows.map((row) => row.present),
      rows.map((row) => row.value),
      rows.map((row) => row.traits),
    ],
  )
}

/** Marks a row set to which nothing is added any more: from now on it is kept only as long as something refers to it. */
export async function completeRowSet(database: Queryable, rowSet: string): Promise<void> {
  await database.query('update audience_loads set complete = true where load = $1', [rowSet])
}

/** The number under which a preview of a row set keeps its changes: no sync has a negative one. */
export const previewNumber = (rowSet: string): string => `-${rowSet}`

/** Removes a row set with its rows and those of its preview.
 *  @returns in how many ranges */
export async function dropRowSet(database: Queryable, rowSet: string): Promise<number> {
  await database.query('delete from audience_changes where sync = $1', [previewNumber(rowSet)])
  const ranges = await deleteInRanges(database, 'audience_rows', 'load = $1', [rowSet])
  await database.query('delete from audience_loads where load = $1', [rowSet])
  return ranges
}

export async function countMembers(database: Queryable, rowSet: string | null): Promise<number> {
  const [row] = await database.query<{ count: string }>(
    'select count(*) from audience_rows where load = $1 and present',
    [rowSet],
  )
  return Number(row?.count ?? 0)
}

export interface UserRange {
  /** The user id before the first of the range; empty at the beginning. */
  after: string
  /** The last user id of the range; null for all that is left. */
  upTo: string | null
}

/** Cuts the users of some rows into ranges that one statement can take; the last one is open.
 *  @param where  picks the rows; its parameters are $1, $2, … */
export async function* userRanges(
  database: Queryable,
  table: 'audience_rows' | 'audience_acknowledged' | 'audience_changes',
  where: string,
  values: (string | number)[],
): AsyncGenerator<UserRange> {
  for (let after = ''; ;) {
    const [row] = await database.query<{ user_id: string }>(
      `select user_id from ${table} where ${where} and user_id > $${values.length + 1}
       order by user_id offset ${rangeSize - 1} limit 1`,
      [...values, after],
    )
    yield { after, upTo: row?.user_id ?? null }
    if (row === undefined) return
    after = row.user_id
  }
}

/** Deletes rows range by range.
 *  @returns how many ranges that took */
export async function deleteInRanges(
  database: Queryable,
  table: 'audience_rows' | 'audience_acknowledged' | 'audience_changes',
  where: string,
  values: (string | number)[],
): Promise<number> {
  const next = values.length + 1
  let ranges = 0
  for await (const { after, upTo } of userRanges(database, table, where, values)) {
    ranges++
    await database.query(
      `delete from ${table} where ${where} and user_id > $${next} and ($${next + 1}::text is null or user_id <= $${next + 1})`,
      [...values, after, upTo],
    )
  }
  return ranges
}
