/** How many events had which fate, per source and minute. */

import type { Queryable } from './database.ts'

export interface EventCount {
  minute: Date
  /** Empty when the source is not known. */
  sourceId: string
  fate: string
  /** Code of the error that refused or dropped the events; empty for other fates. */
  reason: string
  events: number
}

/** Adds to the counts in one statement; each combination at most once in `counts`. */
export async function addEventCounts(database: Queryable, counts: readonly EventCount[]): Promise<void> {
  await database.query(
    `insert into event_fates (minute, source_id, fate, reason, events)
     -- Nodes that count the same take the rows in the same order, and never wait for each other in a circle.
     select * from unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::bigint[]) order by 1, 2, 3, 4
     on conflict (minute, source_id, fate, reason) do update set events = event_fates.events + excluded.events`,
    [
      counts.map(({ minute }) => minute),
      counts.map(({ sourceId }) => sourceId),
      counts.map(({ fate }) => fate),
      counts.map(({ reason }) => reason),
      counts.map(({ events }) => events),
    ],
  )
}

export async function removeOldEventCounts(database: Queryable, before: Date): Promise<void> {
  await database.query('delete from event_fates where minute < $1', [before])
}
