/** What is told of an attempt: to the workflow, to the figures and to the log. */

import type { Attempt, AttemptInput, AttemptOutcome } from '../src/contracts/delivery.ts'
import { traceIdOf } from '../src/contracts/traceparent.ts'
import type { TurnedAway } from '../src/delivery/admission.ts'
import type { SendOutcome } from '../src/delivery/outcome.ts'
import type { Logger } from '../src/logger.ts'

/** What an endpoint did, by which it is known how it does. */
export interface EndpointObservation {
  destinationId: string
  endpointId: string
  /** When the attempt ended. */
  at: Date
  outcome: SendOutcome['kind']
  /** Why it failed; absent on success. */
  failure?: string
}

/** One attempt at an endpoint, of which figures are made. */
export interface AttemptObservation extends EndpointObservation {
  /** From the moment when the event was accepted to the end of this attempt, in milliseconds. */
  latencyMs: number
  /** The time of the attempt alone, in milliseconds. */
  durationMs: number
  /** From the moment when the event was accepted to the beginning of this attempt, in milliseconds; absent unless it was the first one
   *  at its endpoint. */
  waitedMs?: number
  /** Ended from this side, before there was an answer: it counts, and tells nothing of the endpoint. */
  isStopped?: true
}

/** The outcome of an attempt that the gate turned away. */
export const deferred = ({ inMs, reason, isPaced }: TurnedAway): Extract<AttemptOutcome, { kind: 'deferred' }> => ({
  kind: 'deferred',
  turnInMs: inMs,
  reason,
  ...(isPaced && { isPaced }),
})

/** The outcome where stored secrets cannot be read: it may pass, since the operator may give back the key that is missing. */
export const unreadable = (reason: string): SendOutcome => ({
  kind: 'unavailable',
  code: 'invalid_request',
  reason,
  durationMs: 0,
})

/** The outcome of a request that went out, or was about to, and whose answer nobody waits for. */
export const stopped = (at: Date, why: string): SendOutcome => ({
  kind: 'unavailable',
  code: 'network_failure',
  reason: `the attempt was stopped in the middle: ${why}`,
  durationMs: Date.now() - at.getTime(),
})

/** The attempts that were made: one or none. */
export const attemptsOf = (outcome: AttemptOutcome): Attempt[] =>
  'attempt' in outcome && outcome.attempt !== undefined ? [outcome.attempt] : []

/** What the workflow is told of a request that was made.
 *  @param pausedTotalMs  how long the destination has been paused in all, in milliseconds */
export function toAttemptOutcome(
  outcome: SendOutcome,
  made: Omit<Attempt, 'durationMs'>,
  pausedTotalMs: number,
): AttemptOutcome {
  const attempt: Attempt = {
    ...made,
    durationMs: Math.round(outcome.durationMs),
    ...(outcome.status !== undefined && { status: outcome.status }),
    ...(outcome.kind !== 'delivered' && { error: outcome.reason, isFinal: outcome.kind === 'rejected' }),
  }
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered', attempt }
    case 'rejected':
      return { kind: 'rejected', reason: outcome.reason, attempt }
    case 'unavailable': {
      const { retryAfterMs } = outcome
      const asked = retryAfterMs !== undefined && { retryAfterMs }
      return { kind: 'unavailable', attempt: { ...attempt, ...asked }, pausedTotalMs, ...asked }
    }
  }
}

/** An attempt that ends now, as figures have it.
 *  @param acceptedAt  when the event was accepted, in milliseconds since 1970
 *  @param number  which attempt it is of this event at this endpoint, from 1 */
export function observation(
  { destinationId, endpointId }: AttemptInput,
  outcome: SendOutcome,
  { acceptedAt, number }: { acceptedAt: number; number: number },
): AttemptObservation {
  const at = new Date()
  const { durationMs } = outcome
  // The clock of the node that took the event may be ahead of this one's.
  const latencyMs = Math.max(durationMs, at.getTime() - acceptedAt)
  return {
    destinationId,
    endpointId,
    at,
    latencyMs,
    durationMs,
    outcome: outcome.kind,
    ...(number === 1 && { waitedMs: latencyMs - durationMs }),
    ...(outcome.kind !== 'delivered' && { failure: outcome.reason }),
  }
}

/** Logs one line per attempt; a receiver's failure is no error of this node.
 *  @param attempt  its number, from 1
 *  @param runId  looked up only where a line is written */
export function logAttempt(
  logger: Logger,
  { sourceId, destinationId, endpointId, traceparent }: AttemptInput,
  outcome: SendOutcome,
  { attempt, runId }: { attempt: number; runId: () => string | undefined },
): void {
  const { kind, status } = outcome
  const level = kind === 'delivered' ? 'debug' : outcome.code === 'timeout' ? 'warn' : 'info'
  if (!logger.isLevelEnabled(level)) return
  const traceId = traceparent && traceIdOf(traceparent)
  const facts = { sourceId, destinationId, endpointId, attempt, runId: runId(), traceId, outcome: kind, status }
  const durationMs = Math.round(outcome.durationMs)
  if (kind === 'delivered') return logger[level]({ ...facts, durationMs }, 'delivery.attempted')
  const { code, reason } = outcome
  // The reason of an answer may repeat some of it.
  logger[level]({ ...facts, durationMs, code, ...(status === undefined && { reason }) }, 'delivery.attempted')
}
