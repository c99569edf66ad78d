/** What the inbox holds, as the delivery log shows it: what waits, and what ended there, as it was cancelled or refused. */

import type { DeliveryFilter } from '../schemas/delivery.ts'
import type { Queryable } from './database.ts'
import { filterValues, leasedColumns, leasedEvent, matchesFilter, type LeasedEvent, type LeasedRow } from './inbox.ts'
import { microsSql } from './page.ts'
import { isNextInLine } from './user-lines.ts'

export interface QueuedEvent extends LeasedEvent {
  workflowId: string
  /** When it was cancelled or refused; undefined while it waits. */
  endedAt: Date | undefined
  /** Why Temporal refused it for good. */
  refusal: string | undefined
  /** It waits for an event before it of the same user. */
  isBehind: boolean
}

/** The place of what ended in the inbox among its like. */
export interface EndedPosition {
  /** When it ended, ISO 8601 in microseconds. */
  endedAt: string
  seq: string
}

export type EndedEvent = QueuedEvent & { position: EndedPosition }

interface QueuedRow extends LeasedRow {
  workflow_id: string
  refusal: string | null
  is_behind: boolean
  ended_at: Date | null
}

/** An event that was cancelled has ended for whoever looks, though it is settled only once it is known that no delivery of it has begun. */
const endedAt = 'coalesce(cancelled_at, settled_at)'
const hasEnded = '(cancelled_at is not null or settled_at is not null)'

const queuedColumns = `workflow_id, refusal, ${leasedColumns}, ${endedAt} as ended_at,
  not ${hasEnded} and not ${isNextInLine} as is_behind`

const toQueued = (row: QueuedRow): QueuedEvent => ({
  ...leasedEvent(row),
  workflowId: row.workflow_id,
  endedAt: row.ended_at ?? undefined,
  refusal: row.refusal ?? undefined,
  isBehind: row.is_behind,
})

/** Events that wait in the inbox and match, newest first.
 *  @param before  only those that came before this position */
export async function listQueued(
  database: Queryable,
  filter: DeliveryFilter,
  limit: number,
  before?: string,
): Promise<QueuedEvent[]> {
  const rows = await database.query<QueuedRow>(
    `select ${queuedColumns} from inbox
     where not ${hasEnded} and ${matchesFilter} and ($10::bigint is null or seq < $10) order by seq desc limit $11`,
    [...filterValues(filter), before ?? null, limit],
  )
  return rows.map(toQueued)
}

/** Events that ended in the inbox and match, the latest to end first.
 *  @param after  only those behind this position */
export async function listEndedInInbox(
  database: Queryable,
  filter: DeliveryFilter,
  limit: number,
  after?: EndedPosition,
): Promise<EndedEvent[]> {
  const rows = await database.query<QueuedRow & { ended_text: string }>(
    `select ${queuedColumns}, ${microsSql(endedAt)} as ended_text from inbox
     where ${hasEnded} and ${matchesFilter} and ($10::timestamptz is null or (${endedAt}, seq) < ($10, $11::bigint))
     order by ${endedAt} desc, seq desc limit $12`,
    [...filterValues(filter), after?.endedAt ?? null, after?.seq ?? null, limit],
  )
  return rows.map((row) => ({ ...toQueued(row), position: { endedAt: row.ended_text, seq: row.seq } }))
}

export async function findQueued(database: Queryable, workflowId: string): Promise<QueuedEvent | undefined> {
  const [row] = await database.query<QueuedRow>(`select ${queuedColumns} from inbox where workflow_id = $1`, [
    workflowId,
  ])
  return row && toQueued(row)
}
