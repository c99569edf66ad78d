/** Between ingest and Temporal: an event is acknowledged only when Temporal or the inbox holds it durably. */

import { randomUUID } from 'node:crypto'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import { turnIdOf, type NewInboxEvent } from '../db/inbox.ts'
import { isInLine, userInLine } from '../db/user-lines.ts'
import { AppError } from '../errors.ts'
import { createFailureLog } from '../failure-log.ts'
import type { AcceptedEvent } from '../ingest/port.ts'
import type { Logger } from '../logger.ts'
import type { IntakeCounter } from './event-ledger.ts'
import { takesSome, type Readiness } from './inbox-turns.ts'
import type { InboxWriter } from './inbox-writer.ts'
import type { DirectStarts } from './start-directly.ts'

/** When a caller whose events nothing could hold should come again, in seconds. */
const retryAfterSeconds = 5

/** What the endpoints of an event mean for its way: straight to Temporal (`open`), straight to it in small numbers (`trial`), or into the
 *  inbox (`shut`), as events do that stand in the line of their user. */
type Way = 'open' | 'trial' | 'shut'

export interface Intake {
  /** Resolves when all events are held.
   *  @throws AppError inbox_full, or unavailable when neither Temporal nor the database takes them; some may be held all
   *  the same, and a repeat with the same message ids is recognised */
  accept(events: AcceptedEvent[]): Promise<void>
}

export interface IntakeDependencies {
  direct: DirectStarts
  inbox: Pick<InboxWriter, 'write' | 'isHalfFull' | 'mayWait'>
  /** Whether the endpoints of an event take attempts now. */
  readiness: (targets: readonly DeliveryTarget[]) => Readiness
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

export function createIntake(dependencies: IntakeDependencies): Intake {
  const { direct, inbox, retry, count, logger } = dependencies
  const notWritten = createFailureLog(logger, 'inbox.not_written')

  const write = async (sourceId: string, events: NewInboxEvent[]): Promise<void> => {
    const duplicates = await inbox.write(events)
    notWritten.worked()
    count('inboxed', sourceId, events.length)
    if (duplicates > 0) count('duplicate', sourceId, duplicates)
  }

  const hold = async (sourceId: string, events: NewInboxEvent[], way: Way): Promise<void> => {
    if (events.length === 0) return
    const left = way === 'shut' ? undefined : await direct.start(sourceId, events, way === 'trial')
    if (left?.length === 0) return
    try {
      await write(sourceId, left ?? events)
    } catch (error) {
      if (error instanceof AppError) throw error
      notWritten.failed(error)
      await direct.startInTurn(sourceId, left ?? events).catch((failure: unknown) => {
        throw unavailable(failure)
      })
    }
  }

  return {
    async accept(accepted) {
      // Events of one request are all of one source.
      const sourceId = accepted[0]?.sourceId
      if (sourceId === undefined) return
      const ways: Record<Way, NewInboxEvent[]> = { open: [], trial: [], shut: [] }
      for (const event of accepted) {
        const held = toBeHeld(event, retry)
        ways[isInLine(held.input) ? 'shut' : wayOf(event, dependencies)].push(held)
      }
      await Promise.all((['open', 'trial', 'shut'] as const).map((way) => hold(sourceId, ways[way], way)))
    },
  }
}

/** An event goes to the inbox when its endpoints take no attempts now, as its workflow would only wait in Temporal, which costs as much as a
 *  delivery; and when events with the same source and destinations wait there, as they come first. */
function wayOf(event: AcceptedEvent, { inbox, readiness }: Pick<IntakeDependencies, 'inbox' | 'readiness'>): Way {
  if (inbox.isHalfFull()) return 'open'
  const ready = inbox.mayWait(turnIdOf(event)) ? 'shut' : readiness(event.targets)
  return ready === 'probe' || !takesSome(ready) ? 'shut' : ready
}

/** An event as Temporal or the inbox holds it. */
function toBeHeld(event: AcceptedEvent, retry: RetrySchedule): NewInboxEvent {
  const { sourceId, messageId, message, targets, receivedAt, traceparent } = event
  const input: DeliverEventInput = {
    sourceId,
    messageId,
    message,
    targets: targets.map((target) => inLine(target, message)),
    retry,
    acceptedAt: receivedAt.toISOString(),
    ...(traceparent !== undefined && { traceparent }),
  }
  return { input, receivedAt }
}

/** The target with a place in the line of the event's user, where its destination keeps the order. */
const inLine = (target: DeliveryTarget, message: AcceptedEvent['message']): DeliveryTarget =>
  target.orderWaitMs === undefined || userInLine(message) === undefined ? target : { ...target, ticket: randomUUID() }

const unavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'neither Temporal nor the database takes events now', { cause, retryAfterSeconds })
