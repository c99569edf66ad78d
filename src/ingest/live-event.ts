/** An event as those who watch its source see it. */

import { eventWorkflowId } from '../contracts/names.ts'
import { maxLiveText, type LiveEvent } from '../schemas/live-event.ts'
import type { AcceptedEvent, IngestFate, TurnedAwayReason } from './port.ts'

export const acceptedLive = ({ sourceId, messageId, message, receivedAt }: AcceptedEvent): LiveEvent => ({
  ...liveEvent({ ...message, messageId }, 'accepted', receivedAt),
  deliveryId: eventWorkflowId(sourceId, messageId),
})

/** @param event  whatever the caller sent in the place of an event */
export function liveEvent(event: unknown, fate: IngestFate, receivedAt: Date, reason?: TurnedAwayReason): LiveEvent {
  const members = typeof event === 'object' && event !== null ? (event as Record<string, unknown>) : {}
  const text = (value: unknown): string | null => (typeof value === 'string' ? value.slice(0, maxLiveText) : null)
  return {
    at: receivedAt.toISOString(),
    type: text(members['type']),
    event: text(members['event'] ?? members['name']),
    userId: text(members['userId']),
    messageId: text(members['messageId']),
    fate,
    ...(reason !== undefined && { reason }),
  }
}
