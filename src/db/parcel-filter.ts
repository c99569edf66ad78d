/** Which parcels and which of their events a filter of deliveries means. The table of parcels has a row for those events of a parcel
 *  that have their source and their destinations in common, and counts them: a table of few rows tells where to look in one of many. */

import type { DeliveryFilter, StartedStatus } from '../schemas/delivery.ts'
import type { Queryable, SqlValue } from './database.ts'
import { isOpen } from './parcel-statuses.ts'

/** A filter, and what it goes by. */
export interface ParcelFilter extends DeliveryFilter {
  /** Ids of the destinations that are paused: an event that waits for its next attempt there counts as held. */
  paused: readonly string[]
  /** A status beside a destination is where an event stands as a whole, not there. */
  asWhole?: boolean
}

/** Values of the parameters $1 to $7, which conditions on parcels have. */
export const parcelValues = (filter: ParcelFilter): SqlValue[] => [
  filter.status ?? null,
  filter.sourceId ?? null,
  filter.destinationId ?? null,
  filter.type ?? null,
  filter.since ?? null,
  filter.until ?? null,
  [...filter.paused],
]

/** Values of the parameters $1 to $10, which conditions on events have. */
export const eventValues = (filter: ParcelFilter): SqlValue[] => [
  ...parcelValues(filter),
  filter.userId ?? null,
  filter.messageId ?? null,
  filter.event ?? null,
]

const isOnPaused = 'destination_ids && $7::text[]'

/** SQL condition of the events that wait for their next attempt at a paused destination: one that has settled them holds them no longer. */
const waitsAtPaused = `${isOnPaused} and (results is null or exists (
  select from jsonb_each_text(results) as result where key = any($7::text[]) and value = 'retrying'))`

/** SQL of where an event stands, as lists show it. */
const shownStatus = `case when status = 'retrying' and ${waitsAtPaused} then 'held' else status end`

/** SQL condition of the parcels whose counts tell where their events stand as a whole. */
const isCounted = `(differing = 0 or not ${isOnPaused})`

/** Whether a status is where an event stands at the destination of the filter. No destination is partly delivered: the events that are,
 *  as a whole. */
const isOfDestination = ({ status, destinationId, asWhole = false }: ParcelFilter): boolean =>
  destinationId !== undefined && status !== 'partly_delivered' && !asWhole

/** SQL of where an event stands, at the destination of the filter if it has one. What was open there when the event ended, ended with
 *  it. */
export const statusIn = (filter: ParcelFilter): string =>
  isOfDestination(filter)
    ? `case
        when results->>$3::text is null then ${shownStatus}
        when ended_at is not null and ${isOpen('(results->>$3::text)')} then status
        when results->>$3::text = 'retrying' and $3 = any($7::text[]) then 'held'
        else results->>$3::text end`
    : shownStatus

/** SQL of an event's name as the table keeps it: what lists show of it in 255 characters, and behind them a hash of one that is longer. */
export const keptName = (name: string): string =>
  `case when length(${name}) <= 255 then ${name} else left(${name}, 254) || '…' || md5(${name}) end`

/** SQL condition of the events that match. */
export const eventMatches = (filter: ParcelFilter): string => `
  ($1::text is null or $1 = ${statusIn(filter)})
  and ($2::text is null or source_id = $2)
  and ($3::text is null or $3 = any(destination_ids))
  and ($4::text is null or type = $4)
  and ($5::timestamptz is null or received_at >= $5)
  and ($6::timestamptz is null or received_at < $6)
  and ($8::text is null or (left(user_id, 255) = left($8, 255) and user_id = $8))
  and ($9::text is null or message_id = $9)
  and ($10::text is null or event = ${keptName('$10::text')})`

/** How many events of a parcel have a status, as lists show it, unless its destinations differ and some are paused. */
export const shownCounts: Record<StartedStatus, string> = {
  delivering: 'delivering',
  retrying: `case when ${isOnPaused} then 0 else retrying end`,
  held: `held + case when ${isOnPaused} then retrying else 0 end`,
  delivered: 'delivered',
  partly_delivered: 'partly_delivered',
  failed: 'failed',
  discarded: 'discarded',
  cancelled: 'cancelled',
}

const countOfStatus = Object.entries(shownCounts)
  .map(([status, count]) => `when '${status}' then ${count}`)
  .join(' ')

/** SQL condition of the parcels that may have events of the filter. */
export const parcelMayMatch = `
  ($1::text is null or last_end = 'infinity' or (differing > 0 and $3::text is not null) or not ${isCounted} or case $1 ${countOfStatus} else 0 end > 0)
  and ($2::text is null or source_id = $2)
  and ($3::text is null or $3 = any(destination_ids))
  and ($4::text is null or $4 = any(types))
  and ($5::timestamptz is null or last_at >= $5)
  and ($6::timestamptz is null or first_at < $6)`

/** SQL condition, among the parcels that may have events of the filter, of those whose events all match but for their status. */
export const parcelMatchesWholly = (filter: ParcelFilter): string =>
  filter.userId !== undefined || filter.messageId !== undefined || filter.event !== undefined
    ? 'false'
    : `($4::text is null or types = array[$4])
       and ${isOfDestination(filter) ? 'differing = 0' : isCounted}
       and ($5::timestamptz is null or first_at >= $5)
       and ($6::timestamptz is null or last_at < $6)`

/** Whether the filter names a message, or a user, with so few events that an index finds them one by one. */
export async function isOfFew(
  database: Queryable,
  { userId, messageId }: ParcelFilter,
  atMost: number,
): Promise<boolean> {
  if (userId === undefined && messageId === undefined) return false
  const [condition, value] =
    messageId === undefined ? ['left(user_id, 255) = left($1, 255)', userId] : ['message_id = $1', messageId]
  const more = await database.query(`select from parcel_events where ${condition} offset $2 limit 1`, [
    value ?? '',
    atMost,
  ])
  return more.length === 0
}

/** A parcel, and which of the turns that share it: one row of the table of parcels. */
export interface ParcelPart {
  id: string
  part: number
}

/** Values for `eventsOfParcels`. */
export const partValues = (parts: readonly ParcelPart[]): [string[], number[]] => [
  parts.map(({ id }) => id),
  parts.map(({ part }) => part),
]

/** Rows of the events of some parts of parcels. Without figures of a table that has just grown, the planner would read all of it.
 *  @param ids, parts  SQL of arrays, of the same length */
export const eventsOfParcels = (ids: string, parts: string): string =>
  `(select event.* from unnest(${ids}::text[], ${parts}::int[]) as chosen(id, part) cross join lateral
     (select * from parcel_events where parcel_id = chosen.id and part = chosen.part offset 0) as event) as events`
