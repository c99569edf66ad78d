/** The inbox: accepted events whose delivery was not started yet. */

import type { DeliverEventInput, SteeringTrace } from '../contracts/delivery.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { DeliveryFilter } from '../schemas/delivery.ts'
import type { Queryable } from './database.ts'

/** Who is started when: `prompt` at once; `deferred` with what Temporal has to spare, as their endpoints take no more. */
export type Lane = 'prompt' | 'deferred'

export interface NewInboxEvent {
  input: DeliverEventInput
  receivedAt: Date
  lane: Lane
}

/** An event that this node may start until its lease is over. */
export interface LeasedEvent {
  /** Position in its lane, by arrival. */
  seq: string
  input: DeliverEventInput
  /** It is not to be started: who cancelled it, and why. */
  cancelled: SteeringTrace | undefined
}

/** An event of the inbox, as the delivery log shows it. */
export interface QueuedEvent extends LeasedEvent {
  workflowId: string
  receivedAt: Date
  cancelledAt: Date | undefined
  /** Why Temporal refused it for good. */
  refusal: string | undefined
}

/** Deferred ones are behind all others, so that one column tells lane and order. */
export const deferredFrom = '4000000000000000000'

/** Positions of each lane. */
const lanes: Record<Lane, { from: string; below: string }> = {
  prompt: { from: '0', below: deferredFrom },
  deferred: { from: deferredFrom, below: '8000000000000000000' },
}

/** Events of a lane that wait: each lane has an index of its own with just this condition. */
const waiting: Record<Lane, string> = {
  prompt: `seq < ${deferredFrom} and settled_at is null`,
  deferred: `seq >= ${deferredFrom} and settled_at is null`,
}

/** Writes events in one statement; one that waits already is left as it is.
 *  @returns how many were new */
export async function addToInbox(database: Queryable, events: readonly NewInboxEvent[]): Promise<number> {
  const rows = await database.query<{ seq: string }>(
    `insert into inbox (seq, workflow_id, source_id, message_id, user_id, type, destination_ids, input, received_at)
     overriding system value
     select e.lane + nextval('inbox_seq_seq'), e.workflow_id, e.source_id, e.message_id, e.user_id, e.type,
       string_to_array(e.destination_ids, ','), e.input::json, e.received_at
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
       $9::bigint[]) with ordinality
       as e(workflow_id, source_id, message_id, user_id, type, destination_ids, input, received_at, lane, position)
     order by e.position
     on conflict (workflow_id) do nothing returning seq`,
    [
      events.map(({ input }) => eventWorkflowId(input.sourceId, input.messageId)),
      events.map(({ input }) => input.sourceId),
      events.map(({ input }) => input.messageId),
      events.map(({ input }) => input.message.userId ?? null),
      events.map(({ input }) => input.message.type),
      events.map(({ input }) => input.targets.map(({ destinationId }) => destinationId).join(',')),
      events.map(({ input }) => JSON.stringify(input)),
      events.map(({ receivedAt }) => receivedAt),
      events.map(({ lane }) => lanes[lane].from),
    ],
  )
  return rows.length
}

/** Sources that have events in a lane, leased ones too, in the order of their ids: one look-up in an index for each.
 *  @param after  only those behind this id */
export async function sourcesInInbox(database: Queryable, lane: Lane, after: string, limit: number): Promise<string[]> {
  const next = (previous: string): string =>
    `(select source_id from inbox where ${waiting[lane]} and source_id > ${previous} order by source_id, seq limit 1)`
  const rows = await database.query<{ source_id: string }>(
    `with recursive sources as (
       select ${next('$1')} as source_id
       union all
       select ${next('sources.source_id')} from sources where sources.source_id is not null)
     select source_id from sources where source_id is not null limit $2`,
    [after, limit],
  )
  return rows.map(({ source_id }) => source_id)
}

/** Takes the oldest events of each source in a lane that nobody else has, for `leaseMs` milliseconds; a node that dies loses
 *  its leases then.
 *  @param perSource  at most so many of each
 *  @returns in order of arrival */
export async function leaseFromInbox(
  database: Queryable,
  lane: Lane,
  sourceIds: readonly string[],
  perSource: number,
  leaseMs: number,
): Promise<LeasedEvent[]> {
  const rows = await database.query<LeasedRow>(
    `update inbox set leased_until = now() + make_interval(secs => $3 / 1000.0)
     where seq in (
       select oldest.seq from unnest($1::text[]) as source(id) cross join lateral (
         select seq from inbox
         where ${waiting[lane]} and source_id = source.id and (leased_until is null or leased_until < now())
         order by seq limit $2 for update skip locked) as oldest)
     returning ${leasedColumns}`,
    [[...sourceIds], perSource, leaseMs],
  )
  return rows.map(leasedEvent).sort((a, b) => Number(BigInt(a.seq) - BigInt(b.seq)))
}

export const leasedColumns = 'seq, input, cancelled_at, cancelled_by, cancelled_why'

export interface LeasedRow {
  seq: string
  input: DeliverEventInput
  cancelled_at: Date | null
  cancelled_by: string | null
  cancelled_why: string | null
}

export const leasedEvent = ({ seq, input, cancelled_at, cancelled_by, cancelled_why }: LeasedRow): LeasedEvent => ({
  seq,
  input,
  cancelled: cancelled_at === null ? undefined : { by: cancelled_by ?? undefined, why: cancelled_why ?? undefined },
})

/** Removes events whose delivery has started; one that was cancelled since stays, so that its delivery is cancelled too. */
export async function removeFromInbox(database: Queryable, seqs: readonly string[]): Promise<void> {
  await database.query('delete from inbox where seq = any($1::bigint[]) and cancelled_at is null', [[...seqs]])
}

/** Gives leased events back, to be started as soon as possible. */
export async function releaseInInbox(database: Queryable, seqs: readonly string[]): Promise<void> {
  await database.query('update inbox set leased_until = null where seq = any($1::bigint[])', [[...seqs]])
}

/** Marks an event that Temporal refuses for good; it stays, visibly failed. */
export async function refuseInInbox(database: Queryable, seq: string, refusal: string): Promise<void> {
  await database.query('update inbox set refusal = $2, settled_at = now(), leased_until = null where seq = $1', [
    seq,
    refusal,
  ])
}

/** How many events wait, at most: the span of each lane's positions, of which some were never used or are free again. Costs
 *  four look-ups whatever its size; 0 for an empty inbox. */
export async function inboxDepth(database: Queryable): Promise<number> {
  const [row] = await database.query<{ depth: string }>(
    `select sum(coalesce((select max(seq) from inbox where seq >= lane.first and seq < lane.below and settled_at is null)
       - (select min(seq) from inbox where seq >= lane.first and seq < lane.below and settled_at is null) + 1, 0)) as depth
     from unnest($1::bigint[], $2::bigint[]) as lane(first, below)`,
    [Object.values(lanes).map(({ from }) => from), Object.values(lanes).map(({ below }) => below)],
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

interface QueuedRow extends LeasedRow {
  workflow_id: string
  received_at: Date
  refusal: string | null
}

const queuedColumns = `workflow_id, received_at, refusal, ${leasedColumns}`

const toQueued = (row: QueuedRow): QueuedEvent => ({
  ...leasedEvent(row),
  workflowId: row.workflow_id,
  receivedAt: row.received_at,
  cancelledAt: row.cancelled_at ?? undefined,
  refusal: row.refusal ?? undefined,
})

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
  and ($8::timestamptz is null or received_at < $8)`

export const filterValues = (filter: DeliveryFilter): (string | null)[] => [
  filter.status ?? null,
  filter.sourceId ?? null,
  filter.destinationId ?? null,
  filter.type ?? null,
  filter.userId ?? null,
  filter.messageId ?? null,
  filter.since ?? null,
  filter.until ?? null,
]

/** Events in the inbox that match, newest first.
 *  @param before  only those that came before this position */
export async function listQueued(
  database: Queryable,
  filter: DeliveryFilter,
  limit: number,
  before?: string,
): Promise<QueuedEvent[]> {
  const rows = await database.query<QueuedRow>(
    `select ${queuedColumns} from inbox
     where ${matchesFilter} and ($9::bigint is null or seq < $9) order by seq desc limit $10`,
    [...filterValues(filter), before ?? null, limit],
  )
  return rows.map(toQueued)
}

export async function findQueued(database: Queryable, workflowId: string): Promise<QueuedEvent | undefined> {
  const [row] = await database.query<QueuedRow>(`select ${queuedColumns} from inbox where workflow_id = $1`, [
    workflowId,
  ])
  return row && toQueued(row)
}
