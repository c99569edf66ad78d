/** What follows at an endpoint: one decision for single events and parcels, in workflows and activities. Pure: time and chance
 *  are given. */

import { withoutEvidence } from './attempts.ts'
import type { Attempt, AttemptOutcome, DestinationState, EndpointResult, RetrySchedule } from './delivery.ts'
import { obeyedRetryAfterMs, retryDelayMs } from './retry-delay.ts'

/** What is known of one event at one endpoint when an outcome is in. Times are milliseconds since 1970. */
export interface EndpointState {
  /** Attempts so far, that of the outcome included. */
  attempts: number
  /** First and longest pause between attempts, in milliseconds. */
  retry: Pick<RetrySchedule, 'initialMs' | 'maxMs'>
  /** When the retry window ends, as far as the destination was not paused further. */
  windowEndsAt: number
  /** Another endpoint took the event, and one is enough. */
  isSuperseded?: boolean
  /** Why it failed, or was not attempted, before this outcome. */
  reason?: string | undefined
  /** An attempt that may not go pauses like one that failed, as each try costs Temporal a task of its own. */
  pausesInVain?: boolean
  /** A `Retry-After` is obeyed beyond its share of the window, as it was for deliveries that began with an early version. */
  obeysInFull?: boolean
}

/** What may be the case at an endpoint: beside the outcome of an attempt, two that come without one. */
export type EndpointOutcome =
  | AttemptOutcome
  /** The destination is paused no longer. */
  | {
      kind: 'resumed'
      /** The destination as it is now. */
      state: DestinationState
    }
  /** Temporal gave up the activity that tried, at the end of the window. */
  | {
      kind: 'exhausted'
      /** Why the last try failed, or was not made, in words. */
      reason: string
      /** Whether the last try was told why there is no attempt. */
      wasTurnedAway: boolean
      /** What the next try would have waited, in milliseconds. */
      pauseMs?: number
    }

/** The time in milliseconds since 1970, and a source of numbers from 0 up to 1. */
export interface Moment {
  /** Milliseconds since 1970. */
  now: number
  /** A number from 0 up to 1, another one at each call. */
  random: () => number
}

/** What is done next for an event at an endpoint. */
export type NextStep =
  /** An attempt, now. */
  | {
      kind: 'attempt'
      /** Whether the retry window counts from it on. */
      beginsWindow: boolean
    }
  | Wait
  /** Nothing until the destination is resumed. */
  | { kind: 'hold' }
  | Settled

/** An attempt at a time, in milliseconds since 1970: after a pause because one failed, or when its turn is. */
export interface Wait {
  kind: 'wait'
  /** Whether a failed attempt is repeated, or the endpoint had no room for it. */
  for: 'retry' | 'turn'
  /** Milliseconds since 1970. */
  until: number
  /** Why it waits, in words for the operator. */
  reason: string
  /** It was kept away, as the endpoint is down. */
  isDown?: true
}

/** Nothing more: how it ended at the endpoint, and why unless it was delivered. */
export interface Settled {
  kind: 'settle'
  /** How it ended at the endpoint. */
  end: EndpointResult['outcome']
  /** Why, in words; absent when it was delivered. */
  reason?: string
}

/** Why a delivery is discarded, in words for the operator. */
export const destinationGone = 'the destination was switched off or deleted'
/** Why an endpoint without an attempt waits, where nothing more is known. */
export const notAttempted = 'not attempted'

/** What follows an outcome, for as long as the window has room; see `withinWindow`. */
export function nextStep(state: EndpointState, outcome: EndpointOutcome, moment: Moment): NextStep {
  const { attempts, isSuperseded = false, reason } = state
  switch (outcome.kind) {
    case 'delivered':
      return settled('delivered')
    case 'rejected':
      return settled('failed', outcome.reason)
    case 'discarded':
      return settled('discarded', outcome.reason)
    case 'held':
      return isSuperseded ? settled('superseded', reason) : { kind: 'hold' }
    case 'resumed':
      if (outcome.state.kind === 'discarded') return settled('discarded', destinationGone)
      return { kind: 'attempt', beginsWindow: attempts === 0 }
    case 'deferred':
      return afterDeferral(state, outcome, moment)
    case 'unavailable': {
      const error = outcome.attempt.error ?? reason
      if (isSuperseded) return settled('superseded', error)
      return waitForRetry(error, moment.now + pauseMs(state, moment, outcome.retryAfterMs))
    }
    case 'exhausted':
      // Workers or the database were away, or busy, for the whole window: its first attempt is owed to every endpoint.
      if (attempts === 0 && !outcome.wasTurnedAway) return { kind: 'attempt', beginsWindow: true }
      if (isSuperseded) return settled('superseded', outcome.reason)
      return waitForRetry(outcome.reason, moment.now + (outcome.pauseMs ?? pauseMs(state, moment)))
  }
}

/** The step itself, or the end where the retry window is over before its wait is. */
export const withinWindow = (step: NextStep, { windowEndsAt }: Pick<EndpointState, 'windowEndsAt'>): NextStep =>
  step.kind === 'wait' && step.until >= windowEndsAt ? settled('failed', step.reason) : step

/** An endpoint that is superseded still gets the attempt that it was not given. */
function afterDeferral(
  state: EndpointState,
  { turnInMs = 0, reason = state.reason, isDown, isPaced }: Extract<AttemptOutcome, { kind: 'deferred' }>,
  moment: Moment,
): NextStep {
  const { attempts, retry, windowEndsAt, pausesInVain = false } = state
  const { now } = moment
  // Half of what is left at most: an endpoint that recovers earlier than foreseen still gets its attempt.
  const mostMs = (windowEndsAt - now) / 2
  const turnMs = turnInMs > 0 ? Math.max(1, Math.min(turnInMs, retry.maxMs, mostMs)) : 0
  // Pauses grow: one that would end the delivery before its time is shorter, and no shorter than the first one.
  const vainMs = Math.min(pauseMs(state, moment), Math.max(mostMs, retry.initialMs))
  const inMs = pausesInVain && !isPaced ? Math.max(turnMs, vainMs) : turnMs
  if (inMs === 0) return { kind: 'attempt', beginsWindow: false }
  const wait = { kind: 'wait', until: now + inMs, reason: reason ?? notAttempted, ...(isDown && { isDown }) } as const
  return { ...wait, for: attempts === 0 ? 'turn' : 'retry' }
}

const waitForRetry = (reason = notAttempted, until: number): NextStep => ({ kind: 'wait', for: 'retry', until, reason })

const settled = (end: Settled['end'], reason?: string): Settled => ({
  kind: 'settle',
  end,
  ...(reason !== undefined && { reason }),
})

/** Milliseconds before the next attempt, after one that failed. */
function pauseMs(state: EndpointState, { now, random }: Moment, retryAfterMs?: number): number {
  const { attempts, retry, windowEndsAt, obeysInFull = false } = state
  const obeyedMs =
    retryAfterMs === undefined || obeysInFull ? retryAfterMs : obeyedRetryAfterMs(retryAfterMs, windowEndsAt - now)
  return retryDelayMs({ ...retry, attempt: Math.max(attempts, 1), retryAfterMs: obeyedMs, random })
}

/** What became of an endpoint, as the result of a delivery has it. */
export const endpointResult = (
  { endpointId, attempts, lastAttempt }: { endpointId: string; attempts: number; lastAttempt: Attempt | undefined },
  { end, reason }: Pick<Settled, 'end' | 'reason'>,
): EndpointResult => ({
  endpointId,
  outcome: end,
  attempts,
  ...(reason !== undefined && { reason }),
  ...(end === 'failed' && lastAttempt && { lastAttempt: withoutEvidence(lastAttempt) }),
})
