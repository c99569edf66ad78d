/** Between ingest and Temporal: every accepted event is held durably before its caller gets the answer. */

import type { DeliverEventInput, RetrySchedule } from '../contracts/delivery.ts'
import type { AcceptedEvent } from '../ingest/port.ts'
import type { Temporal } from '../temporal/connection.ts'
import { startDelivery } from '../temporal/start-delivery.ts'

export interface Intake {
  accept(events: AcceptedEvent[]): Promise<void>
}

export function createIntake(temporal: Temporal, retry: RetrySchedule): Intake {
  return {
    async accept(events) {
      await Promise.all(events.map((event) => startDelivery(temporal, deliveryInput(event, retry))))
    },
  }
}

const deliveryInput = (
  { sourceId, messageId, message, targets }: AcceptedEvent,
  retry: RetrySchedule,
): DeliverEventInput => ({
  sourceId,
  messageId,
  message,
  targets,
  retry,
})
