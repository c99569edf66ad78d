/** Parcels: events that share a workflow, and where each of them stands. Temporal carries them; this is their list. */

import { maxParcelBytes, maxParcelEvents, type ParcelEvent } from '../contracts/parcels.ts'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { Database, Queryable } from './database.ts'
import { isConflict } from './failure.ts'
import { commonTurn, isWaiting, nameIn, newEvents, newEventValues, sharedTurn, type NewInboxEvent } from './inbox.ts'
import { keptName } from './parcel-filter.ts'
import { countParcel } from './parcel-progress.ts'
import { openCount } from './parcel-statuses.ts'
import { leaveLinesOf, leaveLinesOfRepeats, mayStart, noteTaken, startedInput } from './user-lines.ts'

/** Events of a turn of which fewer go into parcels together share these with other turns. */
const fullShare = 25

/** How full by their bytes parcels are meant to be: their events are of different sizes. */
const fullByBytes = 0.8

/** A parcel whose workflow is to be started. */
export interface ParcelToStart {
  id: string
  /** The turn of its events, or `sharedTurn`. */
  turn: string
  events: (ParcelEvent & { eventId: string })[]
}

interface MovedRow {
  parcel_id: string
  place: number
  event_id: string
  received_at: Date
  input: DeliverEventInput
}

/** Makes parcels of what a statement named `taken` has: turns with many events have parcels of their own, the others share some.
 *  @param name, maxEvents, maxBytes  places of these among the values */
const intoParcels = (name: string, maxEvents: string, maxBytes: string): string => `
  measured as (
    select *, octet_length(input::text) as bytes, ${nameIn('input')} as name,
      case when count(*) over (partition by turn) >= ${fullShare} then turn else '${sharedTurn}' end as group_id from taken),
  -- as many events in each as fit by their mean size
  counted as (
    select *, (row_number() over (in_group order by seq) - 1)
      / greatest(least(${maxEvents}, floor(${maxBytes}::int * ${fullByBytes} / avg(bytes) over in_group)), 1)::int as by_count
    from measured window in_group as (partition by group_id)),
  -- an event that begins below the limit by the size of the largest one ends below the limit
  sized as (
    select *, (sum(bytes) over (in_share order by seq) - bytes)
      / greatest(${maxBytes} - max(bytes) over in_share, 1) as by_size
    from counted window in_share as (partition by group_id, by_count)),
  placed as (
    select *, ${name} || dense_rank() over (order by group_id, by_count, by_size) as parcel_id,
      row_number() over (partition by group_id, by_count, by_size order by seq) - 1 as place
    from sized),
  parted as (select *, dense_rank() over (partition by parcel_id order by turn) - 1 as part from placed),
  made as (
    insert into parcels (id, part, source_id, destination_ids, types, first_seq, last_seq, first_at, last_at, delivering)
    select parcel_id, part, min(source_id), min(destination_ids), array_agg(distinct type), min(seq), max(seq),
      min(received_at), max(received_at), count(*) from parted group by parcel_id, part)
  insert into parcel_events
    (parcel_id, place, part, event_id, seq, source_id, destination_ids, message_id, user_id, type, event, received_at, input)
  select parcel_id, place, part, workflow_id, seq, source_id, destination_ids, message_id, user_id, type,
    ${keptName('name')}, received_at, input from parted
  returning parcel_id, place, event_id, received_at, input`

/** Moves the oldest events of some turns, of those that need not wait for others of their user, from the inbox into new parcels, in one
 *  step.
 *  @param name  of this group of parcels; used once
 *  @param perTurn  at most so many events of each */
export async function moveIntoParcels(
  database: Queryable,
  name: string,
  turns: readonly string[],
  perTurn: number,
): Promise<ParcelToStart[]> {
  const rows = await database.query<MovedRow>(
    `with removed as (
       delete from inbox where seq in (
         select oldest.seq from unnest($1::text[]) as turn(id) cross join lateral (
           select seq from inbox
           where ${isWaiting} and turn = turn.id and cancelled_at is null and ${mayStart}
           order by seq limit $2 for update skip locked) as oldest)
       returning turn, seq, workflow_id, source_id, destination_ids, message_id, user_id, type, received_at,
         ${startedInput}, waits_until),
     noted as (${noteTaken('removed')}),
     -- another node may have written one into a parcel of its own while it was written here
     taken as (select * from removed where not exists (select from parcel_events where event_id = workflow_id)),
     ${intoParcels('$5', '$3', '$4')}`,
    [[...turns], perTurn, maxParcelEvents, maxParcelBytes, `${name}/`],
    'often',
  )
  return toParcels(rows)
}

/** Other nodes that may write the same event at the same time, one after the other. */
const maxConflicts = 3

/** Writes new events into parcels at once; those that wait in the inbox, or are in a parcel, are left as they are.
 *  @param name  of this group of parcels; used once
 *  @throws what the database throws */
export async function writeIntoParcels(
  database: Queryable,
  name: string,
  events: readonly NewInboxEvent[],
): Promise<ParcelToStart[]> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await tryToWriteIntoParcels(database, name, events)
    } catch (error) {
      if (!isConflict(error) || conflicts === maxConflicts) throw error
    }
  }
}

async function tryToWriteIntoParcels(
  database: Queryable,
  name: string,
  events: readonly NewInboxEvent[],
): Promise<ParcelToStart[]> {
  const rows = await database.query<MovedRow>(
    `with given as (
       select distinct on (workflow_id) * from ${newEvents} order by workflow_id, position),
     taken as (
       select turn, nextval('inbox_seq_seq') as seq, workflow_id, source_id, destination_ids, message_id, user_id, type,
         received_at, input
       from (select * from given
         where not exists (select from parcel_events where event_id = workflow_id)
           and not exists (select from inbox where inbox.workflow_id = given.workflow_id)
         order by position) as fresh),
     ${intoParcels('$10', '$11', '$12')}`,
    [...newEventValues(events), `${name}/`, maxParcelEvents, maxParcelBytes],
    'often',
  )
  return toParcels(rows)
}

function toParcels(rows: readonly MovedRow[]): ParcelToStart[] {
  const parcels = new Map<string, ParcelToStart['events']>()
  for (const { parcel_id, place, event_id, received_at, input } of rows) {
    const { sourceId, messageId, message, targets, isOutOfOrder, traceparent } = input
    const receivedAt = received_at.toISOString()
    const events = parcels.get(parcel_id) ?? []
    events[place] = {
      ...{ eventId: event_id, sourceId, messageId, message, targets, receivedAt },
      ...(isOutOfOrder && { isOutOfOrder }),
      ...(traceparent !== undefined && { traceparent }),
    }
    parcels.set(parcel_id, events)
  }
  return [...parcels]
    .flatMap(([id, events]) => {
      const present = events.filter((event) => event !== undefined)
      return present.length === 0 ? [] : [{ id, turn: commonTurn(present), events }]
    })
    .toSorted((a, b) => numberOf(a.id) - numberOf(b.id))
}

/** Which of its group a parcel is; those of a turn are numbered in order of arrival. */
const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('/') + 1))

/** Parcels that were made some time ago and of which no workflow was heard: for the next while they are this node's. */
export async function claimLostParcels(
  database: Queryable,
  olderThanMs: number,
  limit: number,
): Promise<ParcelToStart[]> {
  const claimed = await database.query<{ id: string }>(
    `update parcels set made_at = now() where id in (
       select id from parcels where taken_at is null and made_at < now() - make_interval(secs => $1 / 1000.0)
       order by made_at limit $2 for update skip locked)
     returning id`,
    [olderThanMs, limit],
  )
  if (claimed.length === 0) return []
  const rows = await database.query<MovedRow>(
    `select parcel_id, place, event_id, received_at, input from parcel_events
     where parcel_id = any($1::text[]) and input is not null`,
    [claimed.map(({ id }) => id)],
  )
  return toParcels(rows)
}

/** Takes events out of a parcel that was not started yet; the others move up. */
export async function removeFromParcel(
  database: Queryable,
  parcelId: string,
  eventIds: readonly string[],
): Promise<void> {
  const removed = await database.query<{ seq: string }>(
    'delete from parcel_events where parcel_id = $1 and event_id = any($2::text[]) returning seq',
    [parcelId, [...eventIds]],
  )
  await leaveLinesOfRepeats(
    database,
    removed.map(({ seq }) => seq),
  )
  // Two steps, for the places are unique at each moment.
  await database.query('update parcel_events set place = -1 - place where parcel_id = $1', [parcelId])
  await database.query(
    `update parcel_events set place = moved.place
     from (select event_id, row_number() over (order by place desc) - 1 as place from parcel_events where parcel_id = $1)
       as moved
     where parcel_events.parcel_id = $1 and parcel_events.event_id = moved.event_id`,
    [parcelId],
  )
  await countParcel(database, parcelId)
}

/** Ends what is open in a parcel whose workflow ended without a word: it was terminated, or Temporal has lost it. */
export async function endLostParcel(database: Database, parcelId: string): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(
      `with ended as (
         update parcel_events set status = 'cancelled', ended_at = now(), input = null
         where parcel_id = $1 and ended_at is null returning seq)
       ${leaveLinesOf('ended')}`,
      [parcelId],
    )
    await countParcel(tx, parcelId)
  })
}

/** Which of these parcels have something open. */
export async function openAmong(database: Queryable, parcelIds: readonly string[]): Promise<string[]> {
  if (parcelIds.length === 0) return []
  const rows = await database.query<{ id: string }>(
    `select distinct id from parcels where id = any($1::text[]) and ${openCount} > 0`,
    [[...parcelIds]],
  )
  return rows.map(({ id }) => id)
}

/** Which of these deliveries are in a parcel. */
export async function findInParcels(database: Queryable, eventIds: readonly string[]): Promise<Set<string>> {
  const rows = await database.query<{ event_id: string }>(
    'select event_id from parcel_events where event_id = any($1::text[])',
    [[...eventIds]],
    'often',
  )
  return new Set(rows.map(({ event_id }) => event_id))
}

export async function hasParcels(database: Queryable): Promise<boolean> {
  return (await database.query('select 1 from parcels limit 1')).length > 0
}

/** Removes parcels that were made before a moment and have nothing open. */
export async function removeOldParcels(database: Queryable, before: Date): Promise<void> {
  await database.query(`delete from parcels where made_at < $1 and ${openCount} = 0`, [before])
}
