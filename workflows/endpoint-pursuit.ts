/** One endpoint after its first attempt did not settle it: waiting, retrying, until it is settled or superseded. */

import { CancellationScope, condition, isCancellation, patched, Trigger } from '@temporalio/workflow'
import type {
  Attempt,
  AttemptOutcome,
  DeliverEventInput,
  DestinationState,
  EndpointResult,
  HeldEndpoint,
  RetryInput,
  RetryOutcome,
} from '../src/contracts/delivery.ts'
import { obeyedRetryAfterMs, retryDelayMs } from '../src/contracts/retry-delay.ts'
import { once, readDestination, readPendingAttempts, scheduled } from './activities.ts'
import { readFailure } from './activity-failure.ts'
import { collapsed, readsOnce } from './change-reads.ts'
import type { RetryClock } from './retry-clock.ts'
import type { Steering } from './steering.ts'

/** What a pursuit shares with the destination it belongs to. */
export interface PursuitContext {
  input: DeliverEventInput
  destinationId: string
  clock: RetryClock
  steering: Steering
  /** An attempt failed, and another one follows. */
  noteFailure(): void
  /** Waits until the destination is no longer paused; shared by its endpoints.
   *  @param since  changes that were told when it was last known to be paused; undefined: it is read first */
  untilResumed(since: number | undefined): Promise<DestinationState>
}

export interface Pursuit {
  endpointId: string
  result: PromiseLike<EndpointResult>
  /** Another endpoint succeeded: ends the pursuit, but not before the endpoint has had one attempt. */
  supersede(): void
  /** The endpoint as it waits for its destination, while nothing else is under way for it. */
  held(): HeldEndpoint | undefined
}

/** Temporal gave up within the time that it had; the reason is that of the last attempt. */
interface Exhausted {
  kind: 'exhausted'
  reason: string
  /** Up to the end, no turn came free. */
  isSaturated: boolean
  /** Pause that the next attempt would have had; absent: the usual one. */
  pauseMs?: number
}

const destinationGone = 'the destination was switched off or deleted'

/** @param first  outcome of the endpoint's first attempt
 *  @param resumed  the endpoint as it waited in an earlier run of the workflow */
export function pursueEndpoint(
  context: PursuitContext,
  endpointId: string,
  first: AttemptOutcome,
  resumed?: HeldEndpoint,
): Pursuit {
  const { input, destinationId, clock, steering } = context
  const { retry } = input
  const scope = new CancellationScope()
  const settled = new Trigger<EndpointResult>()
  let attempts = resumed?.attempts ?? 0
  let lastAttempt: Attempt | undefined = resumed?.lastAttempt
  let seenChanges = resumed === undefined ? 0 : undefined
  let underWay = 0
  let isHeld = false
  let superseded = false
  let waitsForTurn = false
  let isPausing = false
  let waitsInTemporal = false

  const note = (made: readonly Attempt[]): void => {
    attempts += made.length
    lastAttempt = made.at(-1) ?? lastAttempt
  }
  if (first.kind === 'unavailable') note([first.attempt])

  const attemptInput = (): RetryInput => ({
    sourceId: input.sourceId,
    messageId: input.messageId,
    message: input.message,
    destinationId,
    endpointId,
    retry,
    attemptsBefore: attempts,
  })

  const settle = (outcome: EndpointResult['outcome'], reason?: string): void => {
    settled.resolve({
      endpointId,
      outcome,
      attempts,
      ...(reason !== undefined && { reason }),
      ...(outcome === 'failed' && lastAttempt && { lastAttempt }),
    })
    scope.cancel()
  }

  /** Runs an activity that Temporal retries, for as long as the window lasts. */
  const run = async (activity: (input: RetryInput) => Promise<RetryOutcome>): Promise<AttemptOutcome | Exhausted> => {
    seenChanges = steering.changes(destinationId)
    try {
      const { outcome, attempts: made } = await activity(attemptInput())
      note(made)
      return outcome
    } catch (error) {
      if (isCancellation(error)) throw error
      const { reason, record, isSaturated } = readFailure(error)
      note(record?.attempts ?? [])
      return {
        kind: 'exhausted',
        reason,
        isSaturated,
        ...(record?.pauseMs !== undefined && { pauseMs: record.pauseMs }),
      }
    }
  }

  const activities = () => scheduled(endpointId, retry, Math.max(clock.remainingMs(), 1))

  const retryOn = async (): Promise<AttemptOutcome | Exhausted> => {
    waitsInTemporal = true
    const outcome = await run((next) => activities().retryDelivery(next))
    waitsInTemporal = false
    return outcome
  }

  /** Ends the pursuit in place of the activity that waits in Temporal, whose attempts are read first. */
  const overtake = async (outcome: EndpointResult['outcome'], reason?: string): Promise<void> => {
    if (waitsInTemporal) {
      const { attempts: made } = await readPendingAttempts(endpointId)
      note(made)
    }
    settle(outcome, reason)
  }

  const pause = async (pauseMs: number): Promise<void> => {
    isPausing = true
    await condition(() => !isPausing, pauseMs, { summary: endpointId })
    isPausing = false
  }

  /** @param inMs  when a turn may be free: until then a timer waits, which costs Temporal less than an activity that comes
   *  in vain */
  const attemptInTurn = async (inMs = 0): Promise<AttemptOutcome | Exhausted> => {
    waitsForTurn = true
    // Half of what is left at most: an endpoint that recovers earlier than foreseen still gets its attempt.
    if (inMs > 0) await pause(Math.min(inMs, retry.maxMs, clock.remainingMs() / 2))
    const outcome = await run((next) => activities().attemptInTurn(next))
    waitsForTurn = false
    return outcome
  }

  /** No attempt was made, and not for want of a turn: workers or the database were away, or busy, for the whole window. */
  const isOwedAttempt = ({ isSaturated }: Exhausted): boolean =>
    attempts === 0 && !isSaturated && patched('window-begins-with-the-first-attempt')

  const attemptOnceTheyAreBack = async (): Promise<AttemptOutcome | Exhausted> => {
    waitsForTurn = true
    const state = await readDestination(destinationId)
    clock.start()
    clock.notePause(state.pausedTotalMs)
    return attemptInTurn()
  }

  const obeyed = (retryAfterMs: number): number => {
    const obeyedMs = obeyedRetryAfterMs(retryAfterMs, clock.remainingMs())
    return obeyedMs < retryAfterMs && patched('retry-after-obeyed-in-part') ? obeyedMs : retryAfterMs
  }

  const usualPauseMs = (retryAfterMs?: number): number =>
    retryDelayMs({
      attempt: Math.max(attempts, 1),
      initialMs: retry.initialMs,
      maxMs: retry.maxMs,
      retryAfterMs: retryAfterMs === undefined ? undefined : obeyed(retryAfterMs),
      random: Math.random,
    })

  /** An activity runs at once, so that the pause before it is a timer; `retryNow` ends it early.
   *  @returns undefined when the window is over before the pause is */
  const retryAfter = async (pauseMs: number): Promise<AttemptOutcome | Exhausted | undefined> => {
    if (pauseMs >= clock.remainingMs()) return undefined
    context.noteFailure()
    await pause(pauseMs)
    return retryOn()
  }

  const pursue = async (): Promise<void> => {
    let outcome: AttemptOutcome | Exhausted | undefined = first
    let lastReason = 'not attempted'
    while (outcome !== undefined) {
      switch (outcome.kind) {
        case 'delivered':
          return settle('delivered')
        case 'rejected':
          return settle('failed', outcome.reason)
        case 'discarded':
          return settle('discarded', outcome.reason)
        case 'held': {
          if (superseded) return settle('superseded', lastReason)
          isHeld = true
          const state = await context.untilResumed(seenChanges)
          isHeld = false
          if (state.kind === 'discarded') return settle('discarded', destinationGone)
          if (attempts === 0) clock.start()
          clock.notePause(state.pausedTotalMs)
          // The first attempt after a hold is an activity of its own, too: a signal that meets the end of a workflow task
          // makes Temporal repeat the task, and a local attempt in it with it.
          outcome = attempts === 0 ? await attemptInTurn() : await retryOn()
          break
        }
        case 'deferred':
          lastReason = outcome.reason ?? lastReason
          if (outcome.pausedTotalMs !== undefined) clock.notePause(outcome.pausedTotalMs)
          outcome = await attemptInTurn(outcome.turnInMs)
          break
        case 'unavailable':
          lastReason = outcome.attempt.error ?? lastReason
          if (superseded) return settle('superseded', lastReason)
          clock.notePause(outcome.pausedTotalMs)
          outcome = await retryAfter(usualPauseMs(outcome.retryAfterMs))
          break
        case 'exhausted': {
          lastReason = outcome.reason
          if (isOwedAttempt(outcome)) {
            outcome = await attemptOnceTheyAreBack()
            break
          }
          if (superseded) return settle('superseded', lastReason)
          // A pause of the destination meanwhile has given time back.
          const state = await readDestination(destinationId)
          clock.notePause(state.pausedTotalMs)
          outcome = await retryAfter(outcome.pauseMs ?? usualPauseMs())
          break
        }
      }
    }
    settle('failed', lastReason)
  }

  /** Ends the pause, or makes one attempt beside the activity that waits in Temporal: only its success or final failure
   *  changes the course. */
  const attemptNow = async (): Promise<void> => {
    if (isPausing) {
      isPausing = false
      return
    }
    const outcome = await run((next) => once(endpointId).attemptInTurn(next))
    if (outcome.kind === 'delivered') await overtake('delivered')
    if (outcome.kind === 'rejected') await overtake('failed', outcome.reason)
    if (outcome.kind === 'discarded') await overtake('discarded', outcome.reason)
  }

  const discardIfGone = async (): Promise<void> => {
    const state = await readDestination(destinationId)
    if (state.kind === 'discarded') await overtake('discarded', destinationGone)
  }

  const discardIfGoneOnce = collapsed(discardIfGone)

  const onDestinationChanged = (): void => {
    if (!readsOnce()) inScope(discardIfGone)
    // The hold reads it for all endpoints.
    else if (!isHeld) inScope(discardIfGoneOnce)
  }

  const inScope = (work: () => Promise<void>): void => {
    underWay++
    scope.run(work).then(
      () => underWay--,
      (error: unknown) => settled.reject(error),
    )
  }

  const stopListening = [
    steering.onRetryNow(() => inScope(attemptNow)),
    steering.onDestinationChanged(destinationId, onDestinationChanged),
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
      if (!waitsForTurn) inScope(() => overtake('superseded'))
    },
    held: () => (isHeld && underWay === 1 ? { endpointId, attempts, ...(lastAttempt && { lastAttempt }) } : undefined),
  }
}
