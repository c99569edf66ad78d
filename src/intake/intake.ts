/** Between ingest and Temporal: an event is acknowledged only when Temporal or the inbox holds it durably. */

import type { DeliverEventInput, RetrySchedule } from '../contracts/delivery.ts'
import { AppError } from '../errors.ts'
import type { AcceptedEvent } from '../ingest/port.ts'
import type { Logger } from '../logger.ts'
import type { DirectSlots } from './direct-slots.ts'
import type { IntakeCounter } from './fates.ts'
import type { InboxWriter } from './inbox-writer.ts'

/** When a caller whose events nothing could hold should come again, in seconds. */
const retryAfterSeconds = 5

export interface Intake {
  /** Resolves when all events are held.
   *  @throws AppError inbox_full, or unavailable when neither Temporal nor the database takes them; some may be held all
   *  the same, and a repeat with the same message ids is recognised */
  accept(events: AcceptedEvent[]): Promise<void>
}

export interface IntakeDependencies {
  /** Starts one delivery. @throws when Temporal does not take it */
  start: (input: DeliverEventInput) => Promise<'started' | 'duplicate'>
  inbox: InboxWriter
  slots: DirectSlots
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

export function createIntake({ start, inbox, slots, retry, count, logger }: IntakeDependencies): Intake {
  /** @returns the events that Temporal did not take */
  const startAll = async (sourceId: string, events: AcceptedEvent[]): Promise<AcceptedEvent[]> => {
    try {
      const left = await Promise.all(
        events.map(async (event) => {
          try {
            count(await start(deliveryInput(event, retry)), sourceId, 1)
            return []
          } catch (error) {
            slots.rest()
            logger.warn({ error: (error as Error).message }, 'intake.start_failed')
            return [event]
          }
        }),
      )
      return left.flat()
    } finally {
      slots.giveBack(sourceId, events.length)
    }
  }

  const write = async (sourceId: string, events: AcceptedEvent[]): Promise<void> => {
    try {
      const waiting = events.map((event) => ({ input: deliveryInput(event, retry), receivedAt: event.receivedAt }))
      const duplicates = await inbox.write(waiting)
      count('inboxed', sourceId, events.length)
      if (duplicates > 0) count('duplicate', sourceId, duplicates)
    } catch (error) {
      if (error instanceof AppError) throw error
      throw new AppError('unavailable', 'neither Temporal nor the database takes events', {
        cause: error,
        retryAfterSeconds,
      })
    }
  }

  return {
    async accept(events) {
      // Events of one request are all of one source.
      const sourceId = events[0]?.sourceId
      if (sourceId === undefined) return
      const left = slots.tryTake(sourceId, events.length) ? await startAll(sourceId, events) : events
      if (left.length > 0) await write(sourceId, left)
    },
  }
}

const deliveryInput = (
  { sourceId, messageId, message, targets }: AcceptedEvent,
  retry: RetrySchedule,
): DeliverEventInput => ({ sourceId, messageId, message, targets, retry })
