/** How many events of parcels match a filter, at a cost that does not grow with their number: parcels count their events. */

import type { DeliveryFilter, StartedStatus } from '../schemas/delivery.ts'
import type { Queryable } from './database.ts'
import {
  eventMatches,
  eventsOfParcels,
  eventValues,
  isOfFew,
  parcelMatchesWholly,
  parcelMayMatch,
  parcelValues,
  partValues,
  shownCounts,
  statusIn,
  type ParcelFilter,
  type ParcelPart,
} from './parcel-filter.ts'
import { openCount } from './parcel-statuses.ts'

export type CarriedCounts = Record<StartedStatus, number>

/** Most events of a message or user that are counted one by one. */
const maxCounted = 10_000

/** Parcels that are looked at among those of which only a part of the events may match. */
const maxLookedAt = 100

const statuses = Object.keys(shownCounts) as StartedStatus[]
const none: CarriedCounts = {
  delivering: 0,
  retrying: 0,
  held: 0,
  delivered: 0,
  partly_delivered: 0,
  failed: 0,
  discarded: 0,
  cancelled: 0,
}

/** Counts events of parcels by status, at the destination of the filter if it has one, with 0 for a status that the filter leaves out.
 *
 *  The counts are exact by source, destination and status, for up to 10,000 events of a message or user, and as long as at most 100
 *  parcels have events on both sides of `type`, `since` or `until`, or events of which destinations came to different ends; otherwise they are an estimate from always the same 100 parcels. While
 *  a parcel has a round, its figures are those before the round. */
export async function countCarried(database: Queryable, filter: ParcelFilter): Promise<CarriedCounts> {
  if (await isOfFew(database, filter, maxCounted)) return countFew(database, filter)
  const { whole, parts } = await countWhole(database, filter)
  return parts === 0 ? whole : addCounts(whole, await countParts(database, filter, parts))
}

/** Parcels with events of which destinations came to different ends that are looked at, the first by age. */
const maxDiffering = 1_000

/** How many events of parcels are tried again at any of these destinations.
 *  @param paused  ids of the destinations that are paused */
export async function countRetriedAt(
  database: Queryable,
  destinationIds: readonly string[],
  paused: readonly string[],
): Promise<number> {
  if (destinationIds.length === 0) return 0
  const [row] = await database.query<{ same: string; differing: string }>(
    `select
       (select coalesce(sum(retrying), 0) from parcels
        where ${openCount} > 0 and differing = 0 and destination_ids && $1::text[] and not destination_ids && $2::text[]) as same,
       (select count(*) from (
          select id, part from parcels
          where ${openCount} > 0 and differing > 0 and destination_ids && $1 order by made_at limit $3
        ) as chosen cross join lateral
          (select status, results from parcel_events
           where parcel_id = chosen.id and part = chosen.part and ended_at is null offset 0) as event
        where case when results is null then status = 'retrying' else exists (
          select from jsonb_each_text(results) as result
          where key = any($1) and not key = any($2) and value = 'retrying') end) as differing`,
    [[...destinationIds], [...paused], maxDiffering],
  )
  return Number(row?.same ?? 0) + Number(row?.differing ?? 0)
}

export const sumOf = (counts: CarriedCounts): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

async function countFew(database: Queryable, filter: ParcelFilter): Promise<CarriedCounts> {
  const rows = await database.query<{ status: StartedStatus; count: string }>(
    `select ${statusIn(filter)} as status, count(*) as count from parcel_events where ${eventMatches(filter)} group by 1`,
    eventValues(filter),
  )
  return countsOf(rows.map(({ status, count }) => [status, Number(count)]))
}

/** @returns the counts of parcels that match as they are, and how many others may have events that match */
async function countWhole(database: Queryable, filter: ParcelFilter): Promise<{ whole: CarriedCounts; parts: number }> {
  const sums = statuses.map((status) => `coalesce(sum(${shownCounts[status]}) filter (where whole), 0) as ${status}`)
  const [row] = await database.query<Record<StartedStatus | 'parts', string>>(
    `select ${sums.join(', ')}, count(*) filter (where not whole) as parts
     from (select *, ${parcelMatchesWholly(filter)} as whole from parcels where ${parcelMayMatch}) as found`,
    parcelValues(filter),
  )
  const asked = ({ status }: DeliveryFilter): StartedStatus[] =>
    statuses.filter((one) => status === undefined || one === status)
  return {
    whole: countsOf(asked(filter).map((status) => [status, Number(row?.[status] ?? 0)])),
    parts: Number(row?.parts ?? 0),
  }
}

/** Counts events of parcels that match only in part.
 *  @param parts  how many such parcels there are */
async function countParts(database: Queryable, filter: ParcelFilter, parts: number): Promise<CarriedCounts> {
  // Parcels have random ids, so that the first ones by id are a fair sample.
  const parcels = await database.query<ParcelPart>(
    `select id, part from parcels where ${parcelMayMatch} and not (${parcelMatchesWholly(filter)}) order by id, part limit $8`,
    [...parcelValues(filter), maxLookedAt],
  )
  const rows = await database.query<{ status: StartedStatus; count: string }>(
    `select ${statusIn(filter)} as status, count(*) as count from ${eventsOfParcels('$11', '$12')}
     where ${eventMatches(filter)} group by 1`,
    [...eventValues(filter), ...partValues(parcels)],
  )
  const share = Math.max(1, parts / maxLookedAt)
  return countsOf(rows.map(({ status, count }) => [status, Math.round(Number(count) * share)]))
}

const countsOf = (counts: readonly (readonly [StartedStatus, number])[]): CarriedCounts => ({
  ...none,
  ...(Object.fromEntries(counts) as Partial<CarriedCounts>),
})

export const addCounts = (a: CarriedCounts, b: CarriedCounts): CarriedCounts =>
  countsOf(statuses.map((status) => [status, a[status] + b[status]]))
