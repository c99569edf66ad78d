/** Events of parcels that an operator, a deletion request or a change of a destination means. */

import type { CarriedPlace } from '../contracts/steering.ts'
import type { Queryable } from './database.ts'
import { eventMatches, eventValues, parcelMayMatch, parcelValues, type ParcelFilter } from './parcel-filter.ts'
import { openCount } from './parcel-statuses.ts'

/** An event, and where a walk through them goes on behind it. */
export interface SteeredEvent {
  id: string
  position: CarriedPlace
}

/** Yields the events that match by parcel, oldest parcels first.
 *  @param after  the place behind which they begin; absent: at the beginning */
export async function* carriedOldestFirst(
  database: Queryable,
  filter: ParcelFilter,
  after: CarriedPlace | undefined,
): AsyncGenerator<SteeredEvent[]> {
  if (after !== undefined) yield await eventsIn(database, filter, after)
  for (let last = after; ;) {
    const parcel = await nextParcel(database, filter, last)
    if (parcel === undefined) return
    last = { ...parcel, place: -1 }
    yield await eventsIn(database, filter, last)
  }
}

async function nextParcel(
  database: Queryable,
  filter: ParcelFilter,
  after: CarriedPlace | undefined,
): Promise<Omit<CarriedPlace, 'place'> | undefined> {
  const [row] = await database.query<Omit<CarriedPlace, 'place'>>(
    `select id as "parcelId", made_at::text as "madeAt" from parcels
     where ${parcelMayMatch} and ($9::text is null or (made_at, id) > ($8::timestamptz, $9))
     order by made_at, id limit 1`,
    [...parcelValues(filter), after?.madeAt ?? null, after?.parcelId ?? null],
  )
  return row
}

async function eventsIn(
  database: Queryable,
  filter: ParcelFilter,
  { parcelId, madeAt, place: after }: CarriedPlace,
): Promise<SteeredEvent[]> {
  const rows = await database.query<{ id: string; place: number }>(
    `select event_id as id, place from parcel_events
     where parcel_id = $11 and place > $12 and ${eventMatches(filter)} order by place`,
    [...eventValues(filter), parcelId, after],
  )
  return rows.map(({ id, place }) => ({ id, position: { parcelId, madeAt, place } }))
}

/** Parcels that have something open for a destination.
 *  @param unlessOn  undefined: all; otherwise those that hold something, and for none of these destinations */
export async function openParcelsFor(
  database: Queryable,
  destinationId: string,
  unlessOn: readonly string[] | undefined,
  afterId: string,
  limit: number,
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select distinct id from parcels
     where ${openCount} > 0 and $1 = any(destination_ids)
       and ($2::text[] is null or (held > 0 and not destination_ids && $2)) and id > $3
     order by id limit $4`,
    [destinationId, unlessOn === undefined ? null : [...unlessOn], afterId, limit],
  )
  return rows.map(({ id }) => id)
}

/** The users whose events are called off. */
export interface UsersOrder {
  userIds: readonly string[]
  /** Ids of the sources whose events are called off, beside those of audiences; null: of all sources. */
  scope: readonly string[] | null
  /** Events that came later are not called off. */
  before: Date
  /** Events of audiences that came later are not called off. */
  forgottenAt: Date
}

/** Deliveries of users that are in parcels and not over; notifications of deletions are not among them. */
export async function openEventsOf(
  database: Queryable,
  { userIds, scope, before, forgottenAt }: UsersOrder,
  limit: number,
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select event_id as id from parcel_events
     where left(user_id, 255) = any(select left(one, 255) from unnest($1::text[]) as one)
       and user_id = any($1::text[]) and ended_at is null and type <> 'delete'
       and case when source_id like 'aud\\_%' then received_at <= $4
         else received_at <= $3 and ($2::text[] is null or source_id = any($2)) end
     limit $5`,
    [[...userIds], scope === null ? null : [...scope], before, forgottenAt, limit],
  )
  return rows.map(({ id }) => id)
}
