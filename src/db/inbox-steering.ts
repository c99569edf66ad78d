/** What an operator does to events of the inbox. The lease decides: what a node is about to start can neither be
 *  cancelled here nor started by another. */

import type { SteeringTrace } from '../contracts/delivery.ts'
import type { DeliveryFilter } from '../schemas/delivery.ts'
import {
  filterValues,
  isWaiting,
  leasedEvent,
  leasedColumns,
  matchesFilter,
  type LeasedEvent,
  type LeasedRow,
} from './inbox.ts'
import type { Queryable } from './database.ts'
import { leaveLinesOf } from './user-lines.ts'

const isFree = 'cancelled_at is null and (leased_until is null or leased_until < now())'

/** Marks an event as cancelled: no node starts it any more. One that Temporal refused is cancelled likewise.
 *  @returns false when it is not there, is cancelled already, or a node is about to start it */
export async function cancelInInbox(
  database: Queryable,
  workflowId: string,
  { by, why }: SteeringTrace,
): Promise<boolean> {
  const rows = await database.query(
    `update inbox set cancelled_at = now(), cancelled_by = $2, cancelled_why = $3, refusal = null, settled_at = null
     where workflow_id = $1 and ${isFree} returning seq`,
    [workflowId, by ?? null, why ?? null],
  )
  return rows.length > 0
}

/** An event of the inbox that is steered with others. */
export interface SteeredInInbox {
  /** Position by arrival. */
  seq: string
  workflowId: string
}

/** Cancels the oldest events that match and wait, and whose positions are behind `after`, in one step.
 *  @returns those that it came to, and of each whether it is cancelled; if not, a node is about to start it, or has it started */
export async function cancelOldestInInbox(
  database: Queryable,
  filter: DeliveryFilter,
  { by, why }: SteeringTrace,
  after: string | undefined,
  limit: number,
): Promise<(SteeredInInbox & { isCancelled: boolean })[]> {
  return database.query(
    // Locked in the order of all who lock several, and without waiting for those that a node has.
    `with oldest as (
       select seq, workflow_id from inbox
       where ${matchesFilter} and settled_at is null and cancelled_at is null and seq > $10 order by seq limit $11),
     free as (
       select seq from inbox where seq in (select seq from oldest) and ${isFree} order by seq for no key update),
     cancelled as (
       update inbox set cancelled_at = now(), cancelled_by = $12, cancelled_why = $13
       where seq in (select seq from free) returning seq)
     select seq, workflow_id as "workflowId", seq in (select seq from cancelled) as "isCancelled"
     from oldest order by seq`,
    [...filterValues(filter), after ?? '0', limit, by ?? null, why ?? null],
  )
}

/** The oldest events that match and were cancelled or refused, and whose positions are behind `after`. */
export async function oldestEndedInInbox(
  database: Queryable,
  filter: DeliveryFilter,
  after: string | undefined,
  limit: number,
): Promise<SteeredInInbox[]> {
  return database.query(
    `select seq, workflow_id as "workflowId" from inbox
     where ${matchesFilter} and (settled_at is not null or cancelled_at is not null) and seq > $10
     order by seq limit $11`,
    [...filterValues(filter), after ?? '0', limit],
  )
}

/** Takes events that were cancelled for `leaseMs` milliseconds, oldest first, to end what is to be done about them: they take no turns. */
export async function leaseCancelled(database: Queryable, limit: number, leaseMs: number): Promise<LeasedEvent[]> {
  const rows = await database.query<LeasedRow>(
    `update inbox set leased_until = now() + make_interval(secs => $2 / 1000.0)
     where seq in (
       select seq from inbox where ${isWaiting} and cancelled_at is not null order by seq limit $1
       for update skip locked)
     returning ${leasedColumns}`,
    [limit, leaseMs],
  )
  return rows.map(leasedEvent)
}

/** Takes one event out of its turn for `leaseMs` milliseconds, and out of the lines of its user; one that Temporal refused waits again.
 *  @returns undefined when it is not there, is cancelled, or a node is about to start it */
export async function claimInInbox(
  database: Queryable,
  workflowId: string,
  leaseMs: number,
): Promise<LeasedEvent | undefined> {
  const [row] = await database.query<LeasedRow>(
    `with claimed as (
       update inbox set leased_until = now() + make_interval(secs => $2 / 1000.0), refusal = null, settled_at = null
       where workflow_id = $1 and ${isFree} returning ${leasedColumns}),
     placeless as (${leaveLinesOf('claimed')})
     select ${leasedColumns} from claimed`,
    [workflowId, leaseMs],
  )
  return row && leasedEvent(row)
}

/** Ends what is to be done about a cancelled event: it stays to be looked at, unless Temporal shows it. */
export async function settleCancelled(database: Queryable, seq: string, isInTemporal: boolean): Promise<void> {
  const settled = isInTemporal
    ? 'delete from inbox where seq = $1'
    : 'update inbox set settled_at = now(), leased_until = null where seq = $1'
  await database.query(`with settled as (${settled} returning seq) ${leaveLinesOf('settled')}`, [seq])
}

/** Removes events that were refused or cancelled before a moment. */
export async function removeSettled(database: Queryable, before: Date): Promise<void> {
  await database.query('delete from inbox where settled_at < $1', [before])
}
