/** The attempts of one event at one endpoint that follow the first: activities make them, and here they are counted. */

import { condition, isCancellation } from '@temporalio/workflow'
import type {
  Attempt,
  AttemptOutcome,
  HeldEventInput,
  HeldEndpoint,
  RetryInput,
  RetryOutcome,
} from '../src/contracts/delivery.ts'
import { attemptKey, lastNumber } from '../src/contracts/attempts.ts'
import { mappingIdAt } from '../src/contracts/delivery.ts'
import type { EndpointOutcome } from '../src/contracts/next-step.ts'
import { once, readPendingAttempts, scheduled } from './activities.ts'
import { readFailure } from './activity-failure.ts'
import type { InTurn } from './one-at-a-time.ts'
import type { RetryClock } from './retry-clock.ts'

export interface EndpointAttempts {
  /** How many attempts were made in all. */
  count(): number
  last(): Attempt | undefined
  /** Makes one attempt as soon as the endpoint's turn comes.
   *  @param tellsWhenDown  whether it ends without an attempt when the endpoint is down */
  inTurn(tellsWhenDown: boolean): Promise<EndpointOutcome>
  /** Makes further attempts until one succeeds or fails for good. */
  retries(): Promise<EndpointOutcome>
  /** Takes note that an operator ordered the attempt that comes next. */
  order(): void
  /** Makes one attempt, by an operator's order, beside the activity that waits in Temporal. */
  beside(): Promise<EndpointOutcome>
  /** Whether an activity of the endpoint waits or runs. */
  isUnderWay(): boolean
  /** Whether the endpoint took the event. */
  isTaken(): boolean
  /** Counts the attempts of the activities that wait in Temporal and are about to be cancelled.
   *  @returns whether one is being made */
  countPending(): Promise<boolean>
  /** Resolves when no activity of the endpoint waits or runs. */
  untilNoneRuns(): Promise<void>
}

interface AttemptsContext {
  input: HeldEventInput
  inTurn: InTurn
  destinationId: string
  clock: RetryClock
  /** Called before each activity. */
  onBegin: () => void
  /** The activities of all endpoints that wait or run. */
  runs: Runs
}

/** Activities that wait or run. */
export type Runs = Set<Promise<void>>

/** Counts from the first attempt on.
 *  @param first  outcome of the first attempt
 *  @param resumed  the endpoint as it waited in an earlier run of the workflow */
export function createEndpointAttempts(
  { input, inTurn, destinationId, clock, onBegin, runs }: AttemptsContext,
  endpointId: string,
  first: AttemptOutcome,
  resumed?: HeldEndpoint,
): EndpointAttempts {
  const { sourceId, messageId, message, acceptedAt, retry, traceparent } = input
  const mappingId = mappingIdAt(input.targets, destinationId)
  let count = resumed?.attempts ?? 0
  let last: Attempt | undefined = resumed?.lastAttempt
  let isOrdered = resumed?.isOrdered === true
  let isTaken = false
  const known = new Set<string>()
  const ownRuns: Runs = new Set()
  /** Some are told twice: by the activity that made them, and as those that wait. */
  const note = (made: readonly Attempt[]): void => {
    const fresh = made.filter((attempt) => !known.has(attemptKey(attempt)))
    for (const attempt of fresh) known.add(attemptKey(attempt))
    count = lastNumber(fresh, count)
    last = fresh.at(-1) ?? last
  }
  if (first.kind === 'unavailable') note([first.attempt])

  const run = async (activity: (input: RetryInput) => Promise<RetryOutcome>): Promise<EndpointOutcome> => {
    const outcome = outcomeOf(activity)
    keepWhileUnderWay([runs, ownRuns], outcome)
    return outcome
  }

  /** Runs an activity; where Temporal gives it up at the end of its time, that is an outcome, too. */
  const outcomeOf = async (activity: (input: RetryInput) => Promise<RetryOutcome>): Promise<EndpointOutcome> => {
    onBegin()
    const ordered = isOrdered && { isOrdered }
    isOrdered = false
    try {
      const { outcome, attempts } = await activity({
        sourceId,
        messageId,
        message,
        destinationId,
        endpointId,
        ...(mappingId !== undefined && { mappingId }),
        ...(acceptedAt !== undefined && { acceptedAt }),
        ...(traceparent !== undefined && { traceparent }),
        retry,
        attemptsBefore: count,
        ...ordered,
      })
      note(attempts)
      isTaken ||= outcome.kind === 'delivered'
      return outcome
    } catch (error) {
      if (isCancellation(error)) throw error
      const { reason, record, isSaturated } = readFailure(error)
      note(record?.attempts ?? [])
      const { pauseMs } = record ?? {}
      return { kind: 'exhausted', reason, wasTurnedAway: isSaturated, ...(pauseMs !== undefined && { pauseMs }) }
    }
  }
  const activities = () => scheduled(endpointId, retry, Math.max(clock.remainingMs(retry.windowMs), 1))

  return {
    count: () => count,
    last: () => last,
    inTurn: (tellsWhenDown) => run((next) => activities().attemptInTurn({ ...next, tellsWhenDown })),
    retries: () => run((next) => activities().retryDelivery(next)),
    order: () => void (isOrdered = true),
    beside: () => run((next) => once(endpointId).attemptInTurn({ ...next, isOrdered: true })),
    isUnderWay: () => ownRuns.size > 0,
    isTaken: () => isTaken,
    async countPending() {
      const { attempts, isUnderWay = false } = await readPendingAttempts(inTurn, endpointId)
      note(attempts)
      return isUnderWay
    },
    untilNoneRuns: async () => void (await Promise.all(ownRuns)),
  }
}

function keepWhileUnderWay(lists: readonly Runs[], work: Promise<unknown>): void {
  const forget = (): void => {
    for (const list of lists) list.delete(run)
  }
  const run = work.then(forget, forget)
  for (const list of lists) list.add(run)
}

/** A pause that can be ended early. */
export interface Pause {
  wait(ms: number): Promise<void>
  /** Ends the pause early. @returns whether one was under way */
  end(): boolean
}

/** A pause that a timer of the workflow makes.
 *  @param summary  what the Temporal UI says of the timer */
export function createPause(summary: string): Pause {
  let isUnderWay = false
  return {
    async wait(ms) {
      isUnderWay = true
      await condition(() => !isUnderWay, ms, { summary })
      isUnderWay = false
    },
    end() {
      const wasUnderWay = isUnderWay
      isUnderWay = false
      return wasUnderWay
    },
  }
}
