/** One endpoint after its first attempt did not settle it: waiting, retrying, until it is settled or superseded. */

import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  Trigger,
} from '@temporalio/workflow'
import type {
  AttemptOutcome,
  AttemptRecord,
  DeliverEventInput,
  DestinationState,
  EndpointResult,
  RetryInput,
} from '../src/contracts/delivery.ts'
import { failureTypes } from '../src/contracts/delivery.ts'
import { retryDelayMs } from '../src/contracts/retry-delay.ts'
import { local, once, scheduled } from './activities.ts'
import type { RetryClock } from './retry-clock.ts'
import type { Steering } from './steering.ts'

/** What a pursuit shares with the destination it belongs to. */
export interface PursuitContext {
  input: DeliverEventInput
  destinationId: string
  clock: RetryClock
  steering: Steering
  /** Waits until the destination is no longer paused; shared by its endpoints. */
  untilResumed(): Promise<DestinationState>
}

export interface Pursuit {
  endpointId: string
  result: PromiseLike<EndpointResult>
  /** Another endpoint succeeded: ends the pursuit, but not before the endpoint has had one attempt. */
  supersede(): void
}

/** The window is over; the reason is that of the last attempt. */
interface Exhausted {
  kind: 'exhausted'
  reason: string
}

/** @param first  outcome of the endpoint's first attempt */
export function pursueEndpoint(context: PursuitContext, endpointId: string, first: AttemptOutcome): Pursuit {
  const { input, destinationId, clock, steering } = context
  const { retry } = input
  const scope = new CancellationScope()
  const settled = new Trigger<EndpointResult>()
  let attempts = first.kind === 'unavailable' ? 1 : 0
  let superseded = false
  let waitsForTurn = false
  let wakeUps = 0

  const attemptInput = (): RetryInput => ({
    messageId: input.messageId,
    message: input.message,
    destinationId,
    endpointId,
    retry,
    attemptsBefore: attempts,
  })

  const settle = (outcome: EndpointResult['outcome'], reason?: string): void => {
    settled.resolve({ endpointId, outcome, attempts, ...(reason !== undefined && { reason }) })
    scope.cancel()
  }

  /** Runs an activity for what is left of the window; Temporal retries it meanwhile. */
  const run = async (
    activity: (input: RetryInput) => Promise<{ outcome: AttemptOutcome; attempts: unknown[] }>,
  ): Promise<AttemptOutcome | Exhausted> => {
    try {
      const result = await activity(attemptInput())
      attempts += result.attempts.length
      return result.outcome
    } catch (error) {
      if (isCancellation(error)) throw error
      const failure = describeFailure(error)
      attempts += failure.record?.attempts.length ?? 0
      return { kind: 'exhausted', reason: failure.reason }
    }
  }

  const retryOn = async (reason: string): Promise<AttemptOutcome | Exhausted> => {
    const remainingMs = clock.remainingMs()
    if (remainingMs <= 0) return { kind: 'exhausted', reason }
    return run((next) => scheduled(endpointId, retry, remainingMs).retryDelivery(next))
  }

  const attemptInTurn = async (): Promise<AttemptOutcome | Exhausted> => {
    waitsForTurn = true
    const outcome = await run((next) =>
      scheduled(endpointId, retry, Math.max(clock.remainingMs(), 1)).attemptInTurn(next),
    )
    waitsForTurn = false
    return outcome
  }

  /** The pause before the first retry; `retryNow` ends it early. @returns whether it fits into the window */
  const pause = async (retryAfterMs: number | undefined): Promise<boolean> => {
    const delayMs = retryDelayMs({
      attempt: Math.max(attempts, 1),
      initialMs: retry.initialMs,
      maxMs: retry.maxMs,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      random: Math.random,
    })
    if (delayMs >= clock.remainingMs()) return false
    const seen = wakeUps
    await condition(() => wakeUps > seen, delayMs)
    return true
  }

  /** A pause of the destination during the retries has given time back. */
  const windowIsOver = async (): Promise<boolean> => {
    const state = await local.readDestination(destinationId)
    clock.notePause(state.pausedTotalMs)
    return clock.remainingMs() <= retry.initialMs / 2
  }

  const pursue = async (): Promise<void> => {
    let outcome: AttemptOutcome | Exhausted = first
    let lastReason = 'not attempted'
    for (;;) {
      switch (outcome.kind) {
        case 'delivered':
          return settle('delivered')
        case 'rejected':
          return settle('failed', outcome.reason)
        case 'discarded':
          return settle('discarded', outcome.reason)
        case 'exhausted':
          if (await windowIsOver()) return settle('failed', outcome.reason)
          lastReason = outcome.reason
          outcome = await retryOn(lastReason)
          break
        case 'held': {
          if (superseded) return settle('superseded', lastReason)
          const state = await context.untilResumed()
          clock.notePause(state.pausedTotalMs)
          outcome = await retryOn(lastReason)
          break
        }
        case 'deferred':
          clock.notePause(outcome.pausedTotalMs)
          outcome = await attemptInTurn()
          break
        case 'unavailable':
          clock.notePause(outcome.pausedTotalMs)
          lastReason = outcome.attempt.error ?? lastReason
          if (superseded) return settle('superseded', lastReason)
          outcome = (await pause(outcome.retryAfterMs))
            ? await retryOn(lastReason)
            : { kind: 'exhausted', reason: lastReason }
          break
      }
    }
  }

  /** One attempt beside whatever waits: only its success or final failure changes the course. */
  const attemptNow = async (): Promise<void> => {
    wakeUps++
    const outcome = await run((next) => once(endpointId).attemptInTurn(next))
    if (outcome.kind === 'delivered') settle('delivered')
    if (outcome.kind === 'rejected') settle('failed', outcome.reason)
    if (outcome.kind === 'discarded') settle('discarded', outcome.reason)
  }

  const discardIfGone = async (): Promise<void> => {
    const state = await local.readDestination(destinationId)
    if (state.kind === 'discarded') settle('discarded', 'the destination was switched off or deleted')
  }

  const inScope = (work: () => Promise<void>): void => {
    scope.run(work).catch((error: unknown) => settled.reject(error))
  }

  const stopListening = [
    steering.onRetryNow(() => inScope(attemptNow)),
    steering.onDestinationChanged(destinationId, () => inScope(discardIfGone)),
  ]
  inScope(pursue)

  return {
    endpointId,
    result: settled.then((result) => {
      for (const stop of stopListening) stop()
      return result
    }),
    supersede() {
      superseded = true
      if (!waitsForTurn) settle('superseded')
    },
  }
}

function describeFailure(error: unknown): { reason: string; record?: AttemptRecord } {
  const cause = error instanceof ActivityFailure ? error.cause : error
  if (!(cause instanceof ApplicationFailure))
    return { reason: 'the last attempt was not finished within the retry window' }
  if (cause.type === failureTypes.endpointSaturated) return { reason: 'not attempted: endpoint saturated' }
  const [record] = (cause.details ?? []) as [AttemptRecord?]
  return { reason: cause.message, ...(record?.attempts && { record }) }
}
