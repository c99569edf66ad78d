/** Hands events straight to Temporal, each in a workflow of its own: as many at a time as there are slots for. */

import { setTimeout as sleep } from 'node:timers/promises'
import { eventWorkflowId } from '../contracts/names.ts'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { NewInboxEvent } from '../db/inbox.ts'
import { PartAwayError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { refusalText } from '../temporal/grpc-errors.ts'
import { maxInFlightPerSource, type DirectSlots } from './direct-slots.ts'
import type { IntakeCounter } from './event-ledger.ts'

/** How long events that nothing else can hold wait for slots while Temporal takes none, and each of them for a Temporal that is slow rather than away;
 *  how long they wait behind others that it takes; and how long it is between two looks for slots, all in milliseconds. */
const turnLimitMs = 5_000
const lineLimitMs = 15_000
const turnPauseMs = 20

export interface DirectStarts {
  /** Starts events side by side, if there are slots for all of them now.
   *  @param isTrial  whether they find out about an endpoint
   *  @returns the events that Temporal did not take; undefined without slots: then none was tried */
  start(sourceId: string, events: NewInboxEvent[], isTrial: boolean): Promise<NewInboxEvent[] | undefined>
  /** Starts events a few at a time, and waits up to 5 s for slots and for Temporal, up to 15 s behind others: for events that nothing else can hold.
   *  @throws when Temporal does not take all of them in time */
  startInTurn(sourceId: string, events: NewInboxEvent[]): Promise<void>
}

export interface DirectStartsDependencies {
  /** Starts one delivery.
   *  @param limitMs  how long it may take, where not as long as usual
   *  @throws when Temporal does not take it */
  start: (input: DeliverEventInput, limitMs?: number) => Promise<'started' | 'duplicate'>
  slots: Pick<DirectSlots, 'take' | 'isResting' | 'isProven'>
  /** Which of these events are in a parcel already, by the ids of their deliveries. */
  knownInParcels: (deliveryIds: readonly string[]) => Promise<Set<string>>
  count: IntakeCounter
  logger: Logger
}

export function createDirectStarts({ slots, ...dependencies }: DirectStartsDependencies): DirectStarts {
  const startAll = async (
    sourceId: string,
    events: NewInboxEvent[],
    giveBack: () => void,
    limitMs?: number,
  ): Promise<NewInboxEvent[]> => {
    try {
      const unknown = await withoutKnown(dependencies, sourceId, events)
      const taken = await Promise.all(unknown.map((event) => startOne(dependencies, event, limitMs)))
      return unknown.filter((_, index) => taken[index] === false)
    } finally {
      giveBack()
    }
  }

  return {
    async start(sourceId, events, isTrial) {
      const giveBack = slots.take(sourceId, events.length, isTrial ? 'trial' : 'usual')
      return giveBack && startAll(sourceId, events, giveBack)
    },
    async startInTurn(sourceId, events) {
      const begunAt = performance.now()
      for (let first = 0; first < events.length; first += maxInFlightPerSource) {
        const few = events.slice(first, first + maxInFlightPerSource)
        const giveBack = await waitForSlots(slots, sourceId, few.length, begunAt)
        const left = await startAll(sourceId, few, giveBack, turnLimitMs)
        if (left.length > 0) throw new Error('Temporal did not take them')
      }
    },
  }
}

/** @throws where Temporal takes none, or not in time */
async function waitForSlots(
  slots: DirectStartsDependencies['slots'],
  sourceId: string,
  count: number,
  begunAt: number,
): Promise<() => void> {
  for (;;) {
    const giveBack = slots.take(sourceId, count, 'stranded')
    if (giveBack !== undefined) return giveBack
    const limitMs = slots.isProven() ? lineLimitMs : turnLimitMs
    if (slots.isResting() || performance.now() > begunAt + limitMs)
      throw new Error('Temporal does not take them in time')
    await sleep(turnPauseMs)
  }
}

/** Leaves out events that a parcel carries: Temporal does not know them by their ids. */
async function withoutKnown(
  { knownInParcels, count }: Pick<DirectStartsDependencies, 'knownInParcels' | 'count'>,
  sourceId: string,
  events: NewInboxEvent[],
): Promise<NewInboxEvent[]> {
  const idOf = ({ input }: NewInboxEvent): string => eventWorkflowId(sourceId, input.messageId)
  const known = await knownInParcels(events.map(idOf))
  if (known.size === 0) return events
  const others = events.filter((event) => !known.has(idOf(event)))
  count('duplicate', sourceId, events.length - others.length)
  return others
}

/** @returns whether Temporal took the event */
async function startOne(
  { start, count, logger }: Pick<DirectStartsDependencies, 'start' | 'count' | 'logger'>,
  { input }: NewInboxEvent,
  limitMs?: number,
): Promise<boolean> {
  const { sourceId } = input
  try {
    count(await start(input, limitMs), sourceId, 1)
    return true
  } catch (error) {
    if (!(error instanceof PartAwayError))
      logger.warn({ sourceId, error: refusalText(error as Error) }, 'delivery.not_started')
    return false
  }
}
