/** Between ingest and Temporal: an event is acknowledged only when Temporal or the inbox holds it durably. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import { AppError, PartAwayError } from '../errors.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { AcceptedEvent } from '../ingest/port.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { refusalText } from '../temporal/grpc-errors.ts'
import { maxInFlightPerSource, type DirectSlots } from './direct-slots.ts'
import type { IntakeCounter } from './fates.ts'
import type { InboxWriter } from './inbox-writer.ts'

/** How long events wait for slots while the database is away, and between two looks for one, in milliseconds. */
const turnLimitMs = 5_000
const turnPauseMs = 20

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
  /** Whether no endpoint of an event takes an attempt now. */
  isShut: (targets: readonly DeliveryTarget[]) => boolean
  /** Which of these events are in a parcel already, by the ids of their deliveries. */
  knownInParcels: (deliveryIds: readonly string[]) => Promise<Set<string>>
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

export function createIntake(dependencies: IntakeDependencies): Intake {
  const { start, inbox, slots, isShut, knownInParcels, retry, count, logger } = dependencies

  const withoutKnown = async (sourceId: string, events: AcceptedEvent[]): Promise<AcceptedEvent[]> => {
    const idOf = ({ messageId }: AcceptedEvent): string => eventWorkflowId(sourceId, messageId)
    const known = await knownInParcels(events.map(idOf))
    if (known.size === 0) return events
    const others = events.filter((event) => !known.has(idOf(event)))
    count('duplicate', sourceId, events.length - others.length)
    return others
  }

  /** Takes slots that are free. @returns the events that Temporal did not take */
  const startAll = async (sourceId: string, events: AcceptedEvent[]): Promise<AcceptedEvent[]> => {
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
      slots.giveBack(sourceId, events.length)
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

  /** The way of events without a slot while the database is away: a few at a time.
   *  @throws when Temporal does not take all of them in time */
  const startInTurn = async (sourceId: string, events: AcceptedEvent[]): Promise<void> => {
    const deadline = performance.now() + turnLimitMs
    for (let first = 0; first < events.length; first += maxInFlightPerSource) {
      const few = events.slice(first, first + maxInFlightPerSource)
      while (!slots.tryTake(sourceId, few.length)) {
        if (slots.isResting() || performance.now() > deadline) throw new Error('Temporal does not take them in time')
        await sleep(turnPauseMs)
      }
      if ((await startAll(sourceId, few)).length > 0) throw new Error('Temporal did not take them')
    }
  }

  const hold = async (sourceId: string, events: AcceptedEvent[], isDirect: boolean): Promise<void> => {
    if (events.length === 0) return
    const direct = isDirect && slots.tryPass(sourceId, events.length)
    const left = direct ? await startAll(sourceId, events) : events
    if (left.length === 0) return
    try {
      await write(sourceId, left)
    } catch (error) {
      if (error instanceof AppError) throw error
      notWritten.failed(error)
      if (direct) throw unavailable(error)
      await startInTurn(sourceId, left).catch((failure: unknown) => {
        throw unavailable(failure)
      })
    }
  }

  /** What an endpoint cannot take costs Temporal as much as a delivery, and is delivered no sooner: it waits in the inbox. */
  const isToWait = ({ targets }: AcceptedEvent): boolean => isShut(targets) && !inbox.isHalfFull()

  return {
    async accept(accepted) {
      // Events of one request are all of one source.
      const sourceId = accepted[0]?.sourceId
      if (sourceId === undefined) return
      const waiting = accepted.filter(isToWait)
      const prompt = waiting.length === 0 ? accepted : accepted.filter((event) => !waiting.includes(event))
      await Promise.all([hold(sourceId, prompt, true), hold(sourceId, waiting, false)])
    },
  }
}

const unavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'neither Temporal nor the database takes events', { cause, retryAfterSeconds })

const deliveryInput = (
  { sourceId, messageId, message, targets, receivedAt }: AcceptedEvent,
  retry: RetrySchedule,
): DeliverEventInput => ({ sourceId, messageId, message, targets, retry, acceptedAt: receivedAt.toISOString() })
