/** Events of parcels in the order of the delivery log: what is under way first, then by end; newest first. */

import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { EventProgress, ParcelEventStatus } from '../contracts/parcels.ts'
import type { TakenAtOnce } from '../contracts/taken-at-once.ts'
import type { Queryable, SqlValue } from './database.ts'
import { microsSql } from './page.ts'
import {
  eventMatches,
  eventsOfParcels,
  eventValues,
  isOfFew,
  parcelMayMatch,
  parcelValues,
  partValues,
  type ParcelFilter,
  type ParcelPart,
} from './parcel-filter.ts'
import { endStatuses, isOpenStatus, openCount } from './parcel-statuses.ts'

/** An event of a parcel, as the delivery log shows it. */
export interface CarriedEvent {
  id: string
  parcelId: string
  place: number
  status: ParcelEventStatus
  sourceId: string
  destinationIds: string[]
  /** Where it stands at each destination, by id; null where that is as it stands as a whole. */
  results: Record<string, ParcelEventStatus> | null
  type: string
  event: string | null
  messageId: string
  userId: string | null
  /** Whether names and answers were removed, as its user was deleted. */
  erased: boolean
  receivedAt: Date
  endedAt: Date | null
  attempts: number
  /** When the first endpoint that waits for an attempt is due, as the last round foresaw it. */
  dueAt: Date | null
  reason: string | null
}

/** The place of a row in the list. */
export interface CarriedPosition {
  /** When it ended, ISO 8601 in microseconds; null while it is under way. */
  endedAt: string | null
  seq: string
}

export type ListedEvent = CarriedEvent & { position: CarriedPosition }

/** SQL of the earliest due time among the open endpoints, which have it in milliseconds since 1970. */
const dueAt = `case when status = 'retrying' then (
  select to_timestamp(min((endpoint->>'dueAt')::float8) / 1000)
  from json_array_elements(progress->'destinations') as destination,
    json_array_elements(destination->'endpoints') as endpoint
  where endpoint->>'end' is null) end`

const columns = `event_id as id, parcel_id as "parcelId", place, status, source_id as "sourceId",
  destination_ids as "destinationIds", results, type, left(event, 255) as event, message_id as "messageId", user_id as "userId", erased,
  received_at as "receivedAt", ended_at as "endedAt", attempts, ${dueAt} as "dueAt", reason`
const positioned = `${columns}, json_build_object('endedAt', ${microsSql('ended_at')}, 'seq', seq::text) as position`

/** Most events of a user that are sorted; more are looked for parcel by parcel. */
const maxSorted = 5_000

/** Lists events that match, in the order of the delivery log.
 *  @param after  the position behind which the list begins; absent: at the beginning */
export async function listCarried(
  database: Queryable,
  filter: ParcelFilter,
  limit: number,
  after?: CarriedPosition,
): Promise<ListedEvent[]> {
  if (await isOfFew(database, filter, maxSorted)) return listFew(database, filter, limit, after)
  const isOver = after !== undefined && after.endedAt !== null
  const { status = 'any', destinationId } = filter
  // It may have ended at a destination while the event goes on at another.
  const hasEnded = endStatuses.includes(status) && destinationId === undefined
  const first = isOver || hasEnded ? [] : await walk(database, filter, underWay, limit, after)
  if (first.length === limit || isOpenStatus(status)) return first
  const then = await walk(database, filter, over, limit - first.length, isOver ? after : undefined)
  return [...first, ...then]
}

const listFew = (
  database: Queryable,
  filter: ParcelFilter,
  limit: number,
  after: CarriedPosition | undefined,
): Promise<ListedEvent[]> =>
  database.query(
    `select ${positioned} from parcel_events
     where ${eventMatches(filter)} and ($12::bigint is null
       or (coalesce(ended_at, 'infinity'), seq) < (coalesce($11::timestamptz, 'infinity'), $12))
     order by coalesce(ended_at, 'infinity') desc, seq desc limit $13`,
    [...eventValues(filter), after?.endedAt ?? null, after?.seq ?? null, limit],
  )

/** A part of the list. Its parcels are taken in the order of their newest events there. */
interface Part {
  /** SQL condition of the parcels that have such events behind the position $8, $9. */
  parcels: string
  /** What parcels are ordered by. */
  newest: string
  /** SQL of `newest` as text. */
  newestText: string
  type: string
  /** SQL condition of such events behind the position $11, $12. */
  events: string
  order: string
  /** Whether an event comes before all of a parcel's. */
  isBefore: (event: CarriedPosition, newest: string) => boolean
}

const underWay: Part = {
  parcels: `${openCount} > 0 and $8::text is null and ($9::bigint is null or first_seq < $9)`,
  newest: 'last_seq',
  newestText: 'last_seq::text',
  type: 'bigint',
  events: 'ended_at is null and $11::text is null and ($12::bigint is null or seq < $12)',
  order: 'seq desc',
  isBefore: ({ seq }, newest) => BigInt(seq) > BigInt(newest),
}

const over: Part = {
  parcels: `last_end > '-infinity' and ($9::bigint is null or first_end <= $8::timestamptz)`,
  newest: 'last_end',
  newestText: `case when last_end = 'infinity' then 'infinity' else ${microsSql('last_end')} end`,
  type: 'timestamptz',
  events: 'ended_at is not null and ($12::bigint is null or (ended_at, seq) < ($11::timestamptz, $12))',
  order: 'ended_at desc, seq desc',
  isBefore: ({ endedAt }, newest) => (endedAt ?? '') > newest,
}

/** Parcels that are looked at together: at first, and at most. */
const firstLook = 20
const longestLook = 320

/** Looks at the events of parcels until what was found comes before all that was not looked at. */
async function walk(
  database: Queryable,
  filter: ParcelFilter,
  part: Part,
  limit: number,
  after: CarriedPosition | undefined,
): Promise<ListedEvent[]> {
  const position = [after?.endedAt ?? null, after?.seq ?? null]
  let found: ListedEvent[] = []
  let last: ParcelKey | undefined
  for (let look = firstLook; ; look = Math.min(2 * look, longestLook)) {
    const parcels = await nextParcels(database, part, [...parcelValues(filter), ...position], last, look + 1)
    const next = parcels.length > look ? parcels.pop() : undefined
    const events = await database.query<ListedEvent>(
      `select ${positioned} from ${eventsOfParcels('$13', '$14')}
       where ${eventMatches(filter)} and ${part.events} order by ${part.order} limit $15`,
      [...eventValues(filter), ...position, ...partValues(parcels), limit],
    )
    found = [...found, ...events].sort(newestFirst).slice(0, limit)
    const final = found[limit - 1]
    if (next === undefined || (final !== undefined && part.isBefore(final.position, next.newest))) return found
    last = parcels.at(-1)
  }
}

interface ParcelKey extends ParcelPart {
  newest: string
}

const nextParcels = (
  database: Queryable,
  { parcels, newest, newestText, type }: Part,
  values: readonly SqlValue[],
  last: ParcelKey | undefined,
  limit: number,
): Promise<ParcelKey[]> =>
  database.query(
    `select id, part, ${newestText} as newest from parcels
     where ${parcelMayMatch} and ${parcels} and ($11::text is null or (${newest}, id, part) < ($10::${type}, $11, $12))
     order by parcels.${newest} desc, id desc, part desc limit $13`,
    [...values, last?.newest ?? null, last?.id ?? null, last?.part ?? null, limit],
  )

const newestFirst = ({ position: a }: ListedEvent, { position: b }: ListedEvent): number =>
  (b.endedAt ?? '').localeCompare(a.endedAt ?? '') || (BigInt(b.seq) > BigInt(a.seq) ? 1 : -1)

/** An event of a parcel with what the table has of it. */
export interface FoundEvent extends CarriedEvent {
  /** Input of the event's delivery, kept until the first round of its parcel is over. */
  input: DeliverEventInput | null
  /** How far the event is; null when each of its endpoints took it at once, or there was no attempt. */
  progress: EventProgress | null
  /** Its attempts where each of its endpoints took it at once. */
  taken: TakenAtOnce | null
}

export async function findCarried(database: Queryable, id: string): Promise<FoundEvent | undefined> {
  const [row] = await database.query<FoundEvent>(
    `select ${columns}, input, progress, taken from parcel_events where event_id = $1`,
    [id],
  )
  return row
}
