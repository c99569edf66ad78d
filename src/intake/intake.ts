/** Between ingest and Temporal: an event is acknowledged only when Temporal or the inbox holds it durably. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliverEventInput, DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import type { Lane } from '../db/inbox.ts'
import { AppError, PartAwayError } from '../errors.ts'
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
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

export function createIntake(dependencies: IntakeDependencies): Intake {
  const { start, inbox, slots, isShut, retry, count, logger } = dependencies

  /** Takes slots that are free. @returns the events that Temporal did not take */
  const startAll = async (sourceId: string, events: AcceptedEvent[]): Promise<AcceptedEvent[]> => {
    try {
      const left = await Promise.all(
        events.map(async (event) => {
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
  const write = async (lane: Lane, sourceId: string, events: AcceptedEvent[]): Promise<void> => {
    const waiting = events.map((event) => ({ input: deliveryInput(event, retry), receivedAt: event.receivedAt, lane }))
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

  const hold = async (lane: Lane, events: AcceptedEvent[]): Promise<void> => {
    // Events of one request are all of one source.
    const sourceId = events[0]?.sourceId
    if (sourceId === undefined) return
    const direct = lane === 'prompt' && slots.tryPass(sourceId, events.length)
    const left = direct ? await startAll(sourceId, events) : events
    if (left.length === 0) return
    try {
      await write(lane, sourceId, left)
    } catch (error) {
      if (error instanceof AppError) throw error
      notWritten.failed(error)
      if (direct) throw unavailable(error)
      await startInTurn(sourceId, left).catch((failure: unknown) => {
        throw unavailable(failure)
      })
    }
  }

  /** An attempt that finds no turn costs Temporal as much as a delivery: the endpoint is no sooner served for it, and
   *  others wait. */
  const laneOf = ({ targets }: AcceptedEvent): Lane => (isShut(targets) && !inbox.isHalfFull() ? 'deferred' : 'prompt')

  return {
    async accept(events) {
      const lanes: Record<Lane, AcceptedEvent[]> = { prompt: [], deferred: [] }
      for (const event of events) lanes[laneOf(event)].push(event)
      await Promise.all([hold('prompt', lanes.prompt), hold('deferred', lanes.deferred)])
    },
  }
}

const unavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'neither Temporal nor the database takes events', { cause, retryAfterSeconds })

const deliveryInput = (
  { sourceId, messageId, message, targets }: AcceptedEvent,
  retry: RetrySchedule,
): DeliverEventInput => ({ sourceId, messageId, message, targets, retry })
