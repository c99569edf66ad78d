/** What the failure of an activity that Temporal gave up says of the attempts that it made. */

import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow'
import type { AttemptRecord } from '../src/contracts/delivery.ts'
import { failureTypes } from '../src/contracts/delivery.ts'

export interface ReadFailure {
  /** Why the last attempt failed. */
  reason: string
  /** What the attempts left behind; absent when they left nothing. */
  record?: AttemptRecord
  /** Whether no turn came free up to the end of the window. */
  isSaturated: boolean
}

export function readFailure(error: unknown): ReadFailure {
  const failure = error instanceof ActivityFailure ? error.cause : error
  // A timeout after a failure of this type means that another try was due, and nobody made it.
  const isSaturated = failure instanceof ApplicationFailure && failure.type === failureTypes.endpointSaturated
  const record = recordOf(failure)
  const reason = record?.attempts.at(-1)?.error ?? messageOf(failure)
  return {
    reason: reason ?? 'the last attempt was not finished within the retry window',
    ...(record && { record }),
    isSaturated,
  }
}

/** The record in the details of the last failure, or of the last heartbeat when the window ended in the middle of an attempt. */
function recordOf(failure: unknown): AttemptRecord | undefined {
  if (failure instanceof ApplicationFailure) return (failure.details as [AttemptRecord?] | undefined)?.[0]
  return failure instanceof TimeoutFailure ? (failure.lastHeartbeatDetails as AttemptRecord | undefined) : undefined
}

/** The message of a failure. When the window ends between two attempts, Temporal gives the failure of the last attempt as the cause
 *  of the timeout, which the SDK leaves as it came. */
function messageOf(failure: unknown): string | undefined {
  if (failure instanceof ApplicationFailure) return failure.message
  return (failure instanceof TimeoutFailure && failure.failure?.cause?.message) || undefined
}
