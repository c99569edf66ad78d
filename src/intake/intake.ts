/** Between ingest and Temporal: an event is acknowledged only when Temporal or the inbox holds it durably. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import { AppError, PartAwayError } from '../errors.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import { turnIdOf } from '../db/inbox.ts'
import type { AcceptedEvent } from '../ingest/port.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { refusalText } from '../temporal/grpc-errors.ts'
import { maxInFlightPerSource, type DirectSlots } from './direct-slots.ts'
import type { IntakeCounter } from './event-ledger.ts'
import type { Readiness } from './inbox-turns.ts'
import type { InboxWriter } from './inbox-writer.ts'

/** While the database is away, events of a caller wait for slots: so long at most, and so long between two looks, in milliseconds. */
const turnLimitMs = 5_000
const turnPauseMs = 20

/** When a caller whose events nothing could hold should come again, in seconds. */
const retryAfterSeconds = 5

/** What the endpoints of an event mean for its way: straight to Temporal (`open`), straight to it in small numbers (`trial`), or into the
 *  inbox (`shut`). */
type Way = Exclude<Readiness, 'probe'>

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
  /** Whether the endpoints of an event take attempts now. */
  readiness: (targets: readonly DeliveryTarget[]) => Readiness
  /** Which of these events are in a parcel already, by the ids of their deliveries. */
  knownInParcels: (deliveryIds: readonly string[]) => Promise<Set<string>>
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

export function createIntake(dependencies: IntakeDependencies): Intake {
  const { start, inbox, slots, readiness, knownInParcels, retry, count, logger } = dependencies

  const withoutKnown = async (sourceId: string, events: AcceptedEvent[]): Promise<AcceptedEvent[]> => {
    const idOf = ({ messageId }: AcceptedEvent): string => eventWorkflowId(sourceId, messageId)
    const known = await knownInParcels(events.map(idOf))
    if (known.size === 0) return events
    const others = events.filter((event) => !known.has(idOf(event)))
    count('duplicate', sourceId, events.length - others.length)
    return others
  }

  /** Starts events side by side, each in a workflow of its own.
   *  @param giveBack  gives the slots of these events back
   *  @returns the events that Temporal did not take */
  const startAll = async (
    sourceId: string,
    events: AcceptedEvent[],
    giveBack: () => void,
  ): Promise<AcceptedEvent[]> => {
    try {
      const unknown = await withoutKnown(sourceId, events)
      const left = await Promise.all(
        unknown.map(async (event) => {
          try {
            count(await start(deliveryInput(event, retry)), sourceId, 1)
            return []
          } catch (error) {
            if (!(error instanceof PartAwayError))
              logger.warn({ error: refusalText(error as Error) }, 'intake.start_failed')
            return [event]
          }
        }),
      )
      return left.flat()
    } finally {
      giveBack()
    }
  }

  const notWritten = createFailureLog(logger, 'intake.not_written')
  const write = async (sourceId: string, events: AcceptedEvent[]): Promise<void> => {
    const waiting = events.map((event) => ({ input: deliveryInput(event, retry), receivedAt: event.receivedAt }))
    const duplicates = await inbox.write(waiting)
    notWritten.worked()
    count('inboxed', sourceId, events.length)
    if (duplicates > 0) count('duplicate', sourceId, duplicates)
  }

  /** Starts events that found no slot while the database is away, so that the inbox cannot take them: a few at a time.
   *  @throws when Temporal does not take all of them in time */
  const startInTurn = async (sourceId: string, events: AcceptedEvent[]): Promise<void> => {
    const deadline = performance.now() + turnLimitMs
    for (let first = 0; first < events.length; first += maxInFlightPerSource) {
      const few = events.slice(first, first + maxInFlightPerSource)
      let giveBack = slots.take(sourceId, few.length)
      while (giveBack === undefined) {
        if (slots.isResting() || performance.now() > deadline) throw new Error('Temporal does not take them in time')
        await sleep(turnPauseMs)
        giveBack = slots.take(sourceId, few.length)
      }
      if ((await startAll(sourceId, few, giveBack)).length > 0) throw new Error('Temporal did not take them')
    }
  }

  const hold = async (sourceId: string, events: AcceptedEvent[], way: Way): Promise<void> => {
    if (events.length === 0) return
    const giveBack = way === 'shut' ? undefined : slots.take(sourceId, events.length, way === 'trial')
    const left = giveBack === undefined ? events : await startAll(sourceId, events, giveBack)
    if (left.length === 0) return
    try {
      await write(sourceId, left)
    } catch (error) {
      if (error instanceof AppError) throw error
      notWritten.failed(error)
      if (giveBack !== undefined) throw unavailable(error)
      await startInTurn(sourceId, left).catch((failure: unknown) => {
        throw unavailable(failure)
      })
    }
  }

  /** An event goes to the inbox when its endpoints take no attempts now, as its workflow would only wait in Temporal, which costs as much as a
   *  delivery; and when events with the same source and destinations wait there, as they come first. */
  const wayOf = (event: AcceptedEvent): Way => {
    if (inbox.isHalfFull()) return 'open'
    const ready = inbox.mayWait(turnIdOf(event)) ? 'shut' : readiness(event.targets)
    return ready === 'probe' ? 'shut' : ready
  }

  return {
    async accept(accepted) {
      // Events of one request are all of one source.
      const sourceId = accepted[0]?.sourceId
      if (sourceId === undefined) return
      const ways: Record<Way, AcceptedEvent[]> = { open: [], trial: [], shut: [] }
      for (const event of accepted) ways[wayOf(event)].push(event)
      await Promise.all([
        hold(sourceId, ways.open, 'open'),
        hold(sourceId, ways.trial, 'trial'),
        hold(sourceId, ways.shut, 'shut'),
      ])
    },
  }
}

const unavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'neither Temporal nor the database takes events', { cause, retryAfterSeconds })

const deliveryInput = (
  { sourceId, messageId, message, targets, receivedAt }: AcceptedEvent,
  retry: RetrySchedule,
): DeliverEventInput => ({ sourceId, messageId, message, targets, retry, acceptedAt: receivedAt.toISOString() })
