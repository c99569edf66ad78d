/** The inbox: accepted events whose delivery was not started yet. */

import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { DeliverEventInput, DeliveryTarget, SteeringTrace } from '../contracts/delivery.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { DeliveryFilter } from '../schemas/delivery.ts'
import type { Queryable, SqlValue } from './database.ts'
import { newKeyValues, withNewKeys, writtenKeys, type KeyDraft, type WrittenKeys } from './user-keys.ts'
import {
  isInLine,
  leaveLinesOf,
  longestWaitMs,
  markBehind,
  mayStart,
  newPlaces,
  newPlaceValues,
  noteTaken,
  noteUntaken,
  startedInput,
} from './user-lines.ts'

export interface NewInboxEvent {
  input: DeliverEventInput
  receivedAt: Date
}

/** An event that this node may start until its lease is over. */
export interface LeasedEvent {
  /** Position by arrival. */
  seq: string
  input: DeliverEventInput
  receivedAt: Date
  /** It is not to be started: who cancelled it, and why. */
  cancelled: SteeringTrace | undefined
}

/** An event that nobody has refused, cancelled for good, or is about to start. */
export const isWaiting = 'settled_at is null and (leased_until is null or leased_until < now())'

/** Events that take turns together: those of a source that go to the same destinations. */
export interface Turn {
  id: string
  destinationIds: string[]
}

/** Of the ids of destinations: the same few come over and over. */
const digests = new LRUCache<string, string>({ max: 1_000 })

/** The turn of an event, as the statements below name it. */
export function turnIdOf(event: { sourceId: string; targets: readonly DeliveryTarget[] }): string {
  const destinationIds = event.targets.map(({ destinationId }) => destinationId).join(',')
  const digest = digests.get(destinationIds) ?? createHash('md5').update(destinationIds).digest('hex')
  digests.set(destinationIds, digest)
  return `${event.sourceId} ${digest}`
}

/** Stands for the turns of events that share a parcel. */
export const sharedTurn = ''

/** The turn that events have in common, or `sharedTurn`. */
export function commonTurn(events: readonly Parameters<typeof turnIdOf>[0][]): string {
  const [turn = sharedTurn, ...others] = new Set(events.map(turnIdOf))
  return others.length === 0 ? turn : sharedTurn
}

/** New events as a table, in their order, of the values that `newEventValues` gives first. */
export const newEvents = `(
  select e.workflow_id, e.source_id, e.message_id, e.user_id, e.type,
    string_to_array(e.destination_ids, ',') as destination_ids, e.input::json, e.received_at,
    e.source_id || ' ' || md5(e.destination_ids) as turn, e.waits_until, e.position
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
    $9::timestamptz[]) with ordinality
    as e(workflow_id, source_id, message_id, user_id, type, destination_ids, input, received_at, waits_until, position))
  as new_events`

export const newEventValues = (events: readonly NewInboxEvent[]): SqlValue[] => [
  events.map(({ input }) => eventWorkflowId(input.sourceId, input.messageId)),
  events.map(({ input }) => input.sourceId),
  events.map(({ input }) => input.messageId),
  events.map(({ input }) => input.message.userId ?? null),
  events.map(({ input }) => input.message.type),
  events.map(({ input }) => input.targets.map(({ destinationId }) => destinationId).join(',')),
  events.map(({ input }) => JSON.stringify(input)),
  events.map(({ receivedAt }) => receivedAt),
  events.map(waitsUntil),
]

/** Until when an event may wait for others of its user; null: it stands in no line. */
function waitsUntil({ input, receivedAt }: NewInboxEvent): Date | null {
  const waitMs = longestWaitMs(input)
  return waitMs === undefined ? null : new Date(receivedAt.getTime() + waitMs)
}

/** Writes events in one statement; one that waits already, or is in a parcel, is left as it is.
 *  @param draft  keys of their users, which are written with them
 *  @returns how many were new */
export async function addToInbox(
  database: Queryable,
  events: readonly NewInboxEvent[],
  draft?: KeyDraft,
): Promise<number> {
  const inputs = events.map(({ input }) => input).filter(isInLine)
  const [placed, places] =
    inputs.length === 0
      ? ['', []]
      : [
          `, placed as (
             insert into user_lines (ticket, line, wait_ms, seq)
             select ticket, line, wait_ms, seq from ${newPlaces(10)} join added using (workflow_id))`,
          newPlaceValues(inputs),
        ]
  const values = [...newEventValues(events), ...places]
  const [keyTables, keyRow] =
    draft === undefined || draft.keys.length === 0
      ? ['', '']
      : [`, ${withNewKeys(values.length + 1)}`, `union all select null, (select ${writtenKeys})`]
  const rows = await database.query<{ seq: string | null; keys: WrittenKeys | null }>(
    `with added as (
       insert into inbox
         (workflow_id, source_id, message_id, user_id, type, destination_ids, input, received_at, turn, waits_until)
       select workflow_id, source_id, message_id, user_id, type, destination_ids, input, received_at, turn, waits_until
       from ${newEvents}
       where not exists (select from parcel_events where event_id = workflow_id)
       order by position
       on conflict (workflow_id) do nothing returning seq, workflow_id)${placed}${keyTables}
     select seq, null::json as keys from added ${keyRow}`,
    keyRow === '' ? values : [...values, ...newKeyValues(draft?.keys ?? [])],
    'often',
  )
  for (const { keys } of rows) if (keys !== null) draft?.note(keys)
  const seqs = rows.flatMap(({ seq }) => seq ?? [])
  if (inputs.length > 0) await markBehind(database, seqs)
  return seqs.length
}

/** Turns that have events in the inbox, leased ones too, in order: one look-up in an index for each.
 *  @param after  only those behind this one */
export async function turnsInInbox(database: Queryable, after: string, limit: number): Promise<Turn[]> {
  const next = (previous: string): string =>
    `(select turn from inbox where settled_at is null and turn > ${previous} order by turn, seq limit 1)`
  return database.query(
    `with recursive turns as (
       select ${next('$1')} as turn
       union all
       select ${next('turns.turn')} from turns where turns.turn is not null)
     select turn as id,
       (select destination_ids from inbox where settled_at is null and turn = turns.turn order by seq limit 1)
       as "destinationIds"
     from turns where turn is not null limit $2`,
    [after, limit],
    'often',
  )
}

/** Takes the oldest events of each turn that nobody else has or has cancelled, and that need not wait for others of their user, for `leaseMs`
 *  milliseconds; a node that dies loses its leases then.
 *  @param perTurn  at most so many of each
 *  @returns in order of arrival */
export async function leaseFromInbox(
  database: Queryable,
  turns: readonly string[],
  perTurn: number,
  leaseMs: number,
): Promise<LeasedEvent[]> {
  if (turns.length === 0) return []
  const rows = await database.query<LeasedRow>(
    `with leased as (
       update inbox set leased_until = now() + make_interval(secs => $3 / 1000.0)
       where seq in (
         select oldest.seq from unnest($1::text[]) as turn(id) cross join lateral (
           select seq from inbox where ${isWaiting} and turn = turn.id and cancelled_at is null and ${mayStart}
           order by seq limit $2 for update skip locked) as oldest)
       returning ${leasedColumnsWith(startedInput)}, waits_until),
     noted as (${noteTaken('leased')})
     select ${leasedColumns} from leased`,
    [[...turns], perTurn, leaseMs],
    'often',
  )
  return rows.map(leasedEvent).sort((a, b) => Number(BigInt(a.seq) - BigInt(b.seq)))
}

/** Gives up events of a turn that waited for an endpoint for too long; they stay, visibly failed. What stands in a line has until then the time
 *  that it may wait there, too.
 *  @param windowMs  how long they may wait where no destination or endpoint has a retry window of its own, in milliseconds; otherwise the longest counts */
export async function giveUpOverdue(
  database: Queryable,
  turn: string,
  windowMs: number,
  reason: string,
  limit: number,
): Promise<number> {
  // Events of a turn go to the same destinations: to look the window up for each took six times as long.
  const rows = await database.query(
    `with window_of_turn as materialized (
       select make_interval(secs => coalesce(
         max(coalesce((e.options ->> 'retryWindowHours')::int * 3600.0, d.retry_window_hours * 3600.0, $2 / 1000.0)), $2 / 1000.0)) as length
       from destinations d left join endpoints e on e.destination_id = d.id
       where d.id = any((select destination_ids from inbox where ${isWaiting} and turn = $1 limit 1)::text[])),
     given_up as (
       update inbox set refusal = $3, settled_at = now(), leased_until = null where seq in (
         select seq from inbox where ${isWaiting} and turn = $1 and cancelled_at is null
           and coalesce(waits_until, received_at) < now() - (select length from window_of_turn)
         order by seq limit $4 for update skip locked)
       returning seq),
     placeless as (${leaveLinesOf('given_up')})
     select seq from given_up`,
    [turn, windowMs, reason, limit],
  )
  return rows.length
}

const leasedColumnsWith = (input: string): string =>
  `seq, ${input}, received_at, cancelled_at, cancelled_by, cancelled_why`
export const leasedColumns = leasedColumnsWith('input')

export interface LeasedRow {
  seq: string
  input: DeliverEventInput
  received_at: Date
  cancelled_at: Date | null
  cancelled_by: string | null
  cancelled_why: string | null
}

export const leasedEvent = ({
  seq,
  input,
  received_at,
  cancelled_at,
  cancelled_by,
  cancelled_why,
}: LeasedRow): LeasedEvent => ({
  seq,
  input,
  receivedAt: received_at,
  cancelled: cancelled_at === null ? undefined : { by: cancelled_by ?? undefined, why: cancelled_why ?? undefined },
})

/** Removes events whose delivery has started; one that was cancelled since stays, so that its delivery is cancelled too. */
export async function removeFromInbox(database: Queryable, seqs: readonly string[]): Promise<void> {
  await database.query('delete from inbox where seq = any($1::bigint[]) and cancelled_at is null', [[...seqs]], 'often')
}

/** Gives leased events back whose start was not tried, to be started as soon as possible. */
export async function releaseUntried(database: Queryable, seqs: readonly string[]): Promise<void> {
  await database.query(
    `with released as (
       update inbox set leased_until = null where seq = any($1::bigint[]) returning seq, waits_until)
     ${noteUntaken('released')}`,
    [[...seqs]],
  )
}

/** Gives leased events back whose start failed, to be started as soon as possible. Temporal may have them all the same. */
export async function releaseInInbox(database: Queryable, seqs: readonly string[]): Promise<void> {
  await database.query('update inbox set leased_until = null where seq = any($1::bigint[])', [[...seqs]])
}

/** Marks an event that Temporal refuses for good; it stays, visibly failed. */
export async function refuseInInbox(database: Queryable, seq: string, refusal: string): Promise<void> {
  await database.query(
    `with refused as (
       update inbox set refusal = $2, settled_at = now(), leased_until = null where seq = $1 returning seq)
     ${leaveLinesOf('refused')}`,
    [seq, refusal],
  )
}

/** How many events wait, at most: the span of their positions, of which some were never used or are free again. Costs two
 *  look-ups whatever its size; 0 for an empty inbox. */
export async function inboxDepth(database: Queryable): Promise<number> {
  const [row] = await database.query<{ depth: string }>(
    `select coalesce((select max(seq) from inbox where settled_at is null)
       - (select min(seq) from inbox where settled_at is null) + 1, 0) as depth`,
  )
  return Number(row?.depth ?? 0)
}

/** How many events are there, refused ones too; it stops counting at `most`. */
export async function countInbox(database: Queryable, most: number): Promise<number> {
  const [row] = await database.query<{ count: string }>(
    'select count(*) as count from (select 1 from inbox limit $1) as counted',
    [most],
  )
  return Number(row?.count ?? 0)
}

/** SQL of an event's name, as `eventName` has it. @param input  column of the input of its delivery */
export const nameIn = (input: string): string => `coalesce(${input}->'message'->>'event', ${input}->'message'->>'name')`

/** Conditions of a filter on the inbox; refused events are failed, those that are neither refused nor cancelled queued. */
export const matchesFilter = `
  ($1::text is null or $1 = case when refusal is not null then 'failed' when cancelled_at is not null then 'cancelled'
    else 'queued' end)
  and ($2::text is null or source_id = $2)
  and ($3::text is null or $3 = any(destination_ids))
  and ($4::text is null or type = $4)
  and ($5::text is null or user_id = $5)
  and ($6::text is null or message_id = $6)
  and ($7::timestamptz is null or received_at >= $7)
  and ($8::timestamptz is null or received_at < $8)
  and ($9::text is null or ${nameIn('input')} = $9)`

export const filterValues = (filter: DeliveryFilter): (string | null)[] => [
  filter.status ?? null,
  filter.sourceId ?? null,
  filter.destinationId ?? null,
  filter.type ?? null,
  filter.userId ?? null,
  filter.messageId ?? null,
  filter.since ?? null,
  filter.until ?? null,
  filter.event ?? null,
]
