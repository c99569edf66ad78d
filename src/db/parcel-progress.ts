/** How far the events of parcels are: what rounds of attempts tell of them, and the figures of their parcels. */

import { distinctAttempts } from '../contracts/attempts.ts'
import type { Attempt } from '../contracts/delivery.ts'
import {
  attemptsIn,
  attemptsOf,
  differingResults,
  eventStatus,
  reasonOf,
  ticketsOfEnded,
  withNewestAttempts,
} from '../contracts/parcel-progress.ts'
import type { EventProgress } from '../contracts/parcels.ts'
import { withNews } from '../contracts/progress-news.ts'
import { takenAtOnce, type TakenAtOnce } from '../contracts/taken-at-once.ts'
import { databaseIn, type Database, type Queryable } from './database.ts'
import { isOpen, parcelStatuses } from './parcel-statuses.ts'
import { leaveLines } from './user-lines.ts'

/** An account of how far events of a parcel are. */
export interface ParcelRecord {
  parcelId: string
  progress: readonly EventProgress[]
  /** The destination whose round it tells of; absent: of none, or of all. */
  destinationId?: string
  /** Whether it tells of a first round: nothing was told of these events before. */
  isFirst?: boolean
}

/** Takes note of how far events are, and brings the figures of their parcels up to date; events that left their parcel are shown
 *  by a workflow of their own. Accounts of several destinations add up, and none takes back what another one told. What has ended gives up
 *  its places in lines of users.
 *  @returns whether there were such places */
export async function recordProgress(database: Database, records: readonly ParcelRecord[]): Promise<boolean> {
  const tickets = records.flatMap(({ progress }) => progress.flatMap(ticketsOfEnded))
  if (tickets.length === 0) await recordIn(database, records)
  else
    await database.transaction(async (tx) => {
      await recordIn(databaseIn(tx), records)
      await leaveLines(tx, tickets)
    })
  return tickets.length > 0
}

async function recordIn(database: Database, records: readonly ParcelRecord[]): Promise<void> {
  const parts = records.flatMap((record) =>
    record.progress.filter((event) => isPart(record, event)).map(({ place }) => ({ parcelId: record.parcelId, place })),
  )
  if (parts.length === 0) return write(database, together(records, new Map()))
  await database.transaction(async (tx) => write(tx, together(records, await lockKnown(tx, parts))))
}

/** Whether more may be known of an event than an account of it has: by other destinations, by the evidence of all attempts but the newest,
 *  by a round whose outcome did not reach the workflow, or by one that came later and wrote sooner. All others are written as they are, for
 *  that takes a third of the time. */
const isPart = ({ isFirst = false, destinationId }: ParcelRecord, { destinations }: EventProgress): boolean =>
  !isFirst &&
  (destinationId === undefined ||
    destinations.length > 1 ||
    destinations.some(({ endpoints }) => endpoints.some(({ end, attempts }) => !end || attempts > 1)))

interface ParcelEventProgress {
  parcelId: string
  event: EventProgress
}

/** What is known of events, by parcel and place; null: each endpoint took it at once. */
type Known = Map<string, EventProgress | null>

const keyOf = (parcelId: string, place: number): string => `${parcelId} ${place}`

/** Reads what is known of events, and keeps their parcels from changing until the end of the transaction. */
async function lockKnown(tx: Queryable, events: readonly { parcelId: string; place: number }[]): Promise<Known> {
  const parcelIds = events.map(({ parcelId }) => parcelId)
  await tx.query('select id from parcels where id = any($1::text[]) order by id, part for no key update', [
    [...new Set(parcelIds)],
  ])
  const rows = await tx.query<{ parcel_id: string; place: number; progress: EventProgress | null }>(
    `select parcel_id, place, progress
     from unnest($1::text[], $2::int[]) as told(parcel_id, place) join parcel_events using (parcel_id, place)
     where input is null and (progress is not null or status = 'delivered')`,
    [parcelIds, events.map(({ place }) => place)],
  )
  return new Map(rows.map(({ parcel_id, place, progress }) => [keyOf(parcel_id, place), progress]))
}

/** Each event once, with what is known of it and what all accounts tell; what was known to be over at once stays so. */
function together(records: readonly ParcelRecord[], known: Known): ParcelEventProgress[] {
  const events = new Map<string, ParcelEventProgress>()
  for (const { parcelId, progress, destinationId } of records)
    for (const news of progress) {
      const key = keyOf(parcelId, news.place)
      const before = events.get(key)?.event ?? known.get(key)
      if (before === null && news.end !== 'left') continue
      events.set(key, { parcelId, event: before ? withNews(before, news, destinationId) : news })
    }
  return [...events.values()]
}

async function write(database: Queryable, events: readonly ParcelEventProgress[]): Promise<void> {
  if (events.length === 0) return
  const parcelIds = [...new Set(events.map(({ parcelId }) => parcelId))]
  const left = events.filter(({ event }) => event.end === 'left')
  const others = events.filter(({ event }) => event.end !== 'left')
  const notLeft =
    left.length === 0
      ? ''
      : `and not exists (select from unnest($10::text[], $11::int[]) as gone(parcel_id, place)
           where gone.parcel_id = events.parcel_id and gone.place = events.place)`
  const atOnce = others.map(({ event }) => takenAtOnce(event))
  const leftEvents = [left.map(({ parcelId }) => parcelId), left.map(({ event }) => event.place)]
  await database.query(
    `with changed as (
       update parcel_events set status = now.status, attempts = now.attempts, reason = now.reason,
         progress = now.progress::json, taken = now.taken::json, results = now.results::jsonb,
         input = null,
         ended_at = case when ${isOpen('now.status')} then null else coalesce(ended_at, now()) end
       from unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[])
         as now(parcel_id, place, status, attempts, reason, progress, taken, results)
       where parcel_events.parcel_id = now.parcel_id and parcel_events.place = now.place
         -- an account of before, by somebody who lost what came since
         and not (${isOpen('now.status')}
           and (parcel_events.attempts > now.attempts or parcel_events.ended_at is not null))
       returning parcel_events.parcel_id, parcel_events.place, parcel_events.status, parcel_events.results,
         parcel_events.ended_at)
     -- A statement sees the rows as they were before it.
     ${countsOf('$9::text[]', {
       only: notLeft,
       joined: 'left join changed on changed.parcel_id = events.parcel_id and changed.place = events.place',
       status: 'coalesce(changed.status, events.status)',
       isUnheard: 'events.input is not null and changed.place is null',
       endedAt: 'case when changed.place is null then events.ended_at else changed.ended_at end',
       results: 'case when changed.place is null then events.results else changed.results end',
     })}`,
    [
      others.map(({ parcelId }) => parcelId),
      others.map(({ event }) => event.place),
      others.map(({ event }) => eventStatus(event)),
      others.map(({ event }) => attemptsOf(event)),
      others.map(({ event }) => reasonOf(event) ?? null),
      others.map(({ event }, index) => (atOnce[index] ? null : JSON.stringify(event))),
      atOnce.map((taken) => (taken ? JSON.stringify(taken) : null)),
      others.map(({ event }) => resultsText(event)),
      parcelIds,
      ...(left.length === 0 ? [] : leftEvents),
    ],
    'often',
  )
  if (left.length > 0)
    await database.query(
      `delete from parcel_events using unnest($1::text[], $2::int[]) as gone(parcel_id, place)
       where parcel_events.parcel_id = gone.parcel_id and parcel_events.place = gone.place`,
      leftEvents,
    )
}

function resultsText(event: EventProgress): string | null {
  const results = differingResults(event)
  return results === undefined ? null : JSON.stringify(results)
}

/** Expressions of an event of a parcel, by the columns of `events` and of what is joined. */
interface CountedEvent {
  status: string
  /** Whether its outcome is still to come. */
  isUnheard: string
  endedAt: string
  /** Where it stands at each destination; null where that does not differ. */
  results: string
  /** A further condition, `and …`, of the events that count; all unless given. */
  only?: string
  /** What is joined to each event. */
  joined?: string
}

/** Brings figures of parcels up to date. Without figures of tables that have just grown, the planner would read all of them: it is given the
 *  order in which it reads.
 *  @param ids  SQL of an array: the ids of the parcels */
const countsOf = (
  ids: string,
  { status, isUnheard, endedAt, results, only = '', joined = '' }: CountedEvent,
): string => `
  update parcels set taken_at = case when counted.unheard = 0 then coalesce(taken_at, now()) else taken_at end,
    first_end = counted.first_end, last_end = counted.last_end,
    ${['differing', ...parcelStatuses].map((name) => `${name} = counted.${name}`).join(', ')}
  from (
    select recorded.id, recorded.part, count(*) filter (where ${isUnheard}) as unheard,
      count(*) filter (where ${results} is not null) as differing,
      coalesce(min(${endedAt}), '-infinity') as first_end, coalesce(max(${endedAt}), '-infinity') as last_end,
      ${parcelStatuses.map((name) => `count(*) filter (where ${status} = '${name}') as ${name}`).join(', ')}
    from unnest(${ids}) as told(id)
    cross join lateral (select id, part from parcels where id = told.id offset 0) as recorded
    left join lateral (
      select * from parcel_events as events
      where events.parcel_id = recorded.id and events.part = recorded.part ${only} offset 0) as events on true
    ${joined}
    group by recorded.id, recorded.part) as counted
  where parcels.id = counted.id and parcels.part = counted.part`

/** Brings the figures of a parcel up to date. */
export const countParcel = (database: Queryable, parcelId: string): Promise<unknown> =>
  database.query(
    countsOf('array[$1]', {
      status: 'events.status',
      isUnheard: 'events.input is not null',
      endedAt: 'events.ended_at',
      results: 'events.results',
    }),
    [parcelId],
  )

/** What is known of an event that has an outcome: how far it is, or that each endpoint took it at once. */
export type KnownProgress = { progress: EventProgress } | { taken: TakenAtOnce | null }

/** How far the events of a parcel are that have an outcome, by place, with as many attempts as Temporal takes. */
export async function recordedProgress(database: Queryable, parcelId: string): Promise<Map<number, KnownProgress>> {
  const rows = await database.query<{ place: number; progress: EventProgress | null; taken: TakenAtOnce | null }>(
    'select place, progress, taken from parcel_events where parcel_id = $1 and input is null',
    [parcelId],
  )
  return new Map(
    rows.map(({ place, progress, taken }) => [
      place,
      progress ? { progress: withNewestAttempts(progress) } : { taken },
    ]),
  )
}

/** All attempts of an event of a parcel that are known, oldest first; none where each endpoint took it at once, or it left. */
export async function recordedAttempts(database: Queryable, parcelId: string, place: number): Promise<Attempt[]> {
  const [row] = await database.query<{ progress: EventProgress | null }>(
    'select progress from parcel_events where parcel_id = $1 and place = $2',
    [parcelId, place],
  )
  return row?.progress ? distinctAttempts(attemptsIn(row.progress)) : []
}
