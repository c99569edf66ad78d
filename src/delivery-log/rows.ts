/** Rows of the delivery log that are made from the database: events of the inbox and of parcels. */

import { eventName, shownText } from '../contracts/event-name.ts'
import type { QueuedEvent } from '../db/inbox-list.ts'
import type { CarriedEvent } from '../db/parcel-list.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { whenToCome } from '../temporal/delivery-row.ts'

/** Why an event is still in the inbox whose destination keeps the order of each user's events. */
const behindAnother = 'waits for the event before it of the same user'

/** An event in the inbox, as a row of the log. */
export function queuedRow({
  workflowId,
  input,
  receivedAt,
  endedAt,
  cancelled,
  refusal,
  isBehind,
}: QueuedEvent): Delivery {
  const { userId, type } = input.message
  const name = eventName(input.message)
  return {
    id: workflowId,
    status: refusal !== undefined ? 'failed' : cancelled !== undefined ? 'cancelled' : 'queued',
    sourceId: input.sourceId,
    destinationIds: input.targets.map(({ destinationId }) => destinationId),
    type,
    event: name && shownText(name),
    messageId: input.messageId,
    userId: userId === undefined ? null : shownText(userId),
    erased: false,
    startedAt: receivedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    attempts: 0,
    nextAttemptAt: null,
    reason: refusal ?? (isBehind ? behindAnother : null),
  }
}

/** An event of a parcel, as a row of the log. */
export function carriedRow(
  { status, receivedAt, endedAt, dueAt, results, ...event }: CarriedEvent,
  isPaused: (destinationId: string) => boolean,
): Delivery {
  const { id, sourceId, destinationIds, type, messageId, userId, erased, attempts, reason } = event
  // A destination that has settled it holds it no longer.
  const isWaitedFor = (destinationId: string): boolean => results === null || results[destinationId] === 'retrying'
  const isHeld = status === 'retrying' && destinationIds.some((one) => isPaused(one) && isWaitedFor(one))
  return {
    id,
    status: isHeld ? 'held' : status,
    sourceId,
    destinationIds,
    type,
    event: event.event,
    messageId,
    userId: userId && shownText(userId),
    erased,
    startedAt: receivedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    attempts,
    nextAttemptAt: isHeld ? null : whenToCome(dueAt?.toISOString()),
    reason,
  }
}
