/** What an operator does to single events of the inbox. The lease decides: what a node is about to start can neither be
 *  cancelled here nor started by another. */

import type { SteeringTrace } from '../contracts/delivery.ts'
import { leasedEvent, leasedColumns, type LeasedEvent, type LeasedRow } from './inbox.ts'
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
