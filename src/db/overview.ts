/** Figures for the overview: what happened at the door and at the endpoints, per range and in equal steps. */

import type { Queryable } from './database.ts'

export interface DoorRange {
  since: Date
  until: Date
  /** Ids of the sources that count; undefined: all. */
  sourceIds: string[] | undefined
}

export interface DoorCount {
  fate: string
  reason: string
  events: number
}

export interface StepCount {
  /** Beginning of the step. */
  at: Date
  fate: string
  events: number
}

const inRange = `minute >= $1 and minute < $2 and ($3::text[] is null or source_id = any($3))`

export async function countAtDoor(database: Queryable, { since, until, sourceIds }: DoorRange): Promise<DoorCount[]> {
  const rows = await database.query<{ fate: string; reason: string; events: string }>(
    `select fate, reason, sum(events) as events from event_fates where ${inRange} group by fate, reason`,
    [since, until, sourceIds ?? null],
  )
  return rows.map(({ events, ...row }) => ({ ...row, events: Number(events) }))
}

/** Counts events at the door in equal steps.
 *  @param stepMs  length of a step, in milliseconds; the first one begins at `since` */
export async function countAtDoorPerStep(
  database: Queryable,
  { since, until, sourceIds }: DoorRange,
  stepMs: number,
): Promise<StepCount[]> {
  const rows = await database.query<{ at: Date; fate: string; events: string }>(
    `select date_bin(make_interval(secs => $4 / 1000.0), minute, $1) as at, fate, sum(events) as events
     from event_fates where ${inRange} group by at, fate`,
    [since, until, sourceIds ?? null, stepMs],
  )
  return rows.map(({ events, ...row }) => ({ ...row, events: Number(events) }))
}

/** Whether any event was received since counting began. */
export async function wasAnyReceived(database: Queryable): Promise<boolean> {
  const rows = await database.query(
    `select 1 from event_fates where fate in ('accepted', 'filtered', 'no_destination', 'suppressed') limit 1`,
  )
  return rows.length > 0
}
