/** What the failure of an activity that Temporal gave up says of the attempts that it made. */

import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow'
import type { AttemptRecord } from '../src/contracts/delivery.ts'
import { failureTypes } from '../src/contracts/delivery.ts'

export interface ReadFailure {
  /** That of the last attempt. */
  reason: string
  /** Absent when no attempt left one. */
  record?: AttemptRecord
  /** Up to the end of the window, no turn came free. */
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

/** In the details of the last failure, or of the last heartbeat when the window ended in the middle of an attempt. */
function recordOf(failure: unknown): AttemptRecord | undefined {
  if (failure instanceof ApplicationFailure) return (failure.details as [AttemptRecord?] | undefined)?.[0]
  return failure instanceof TimeoutFailure ? (failure.lastHeartbeatDetails as AttemptRecord | undefined) : undefined
}

/** When the window ends between two attempts, Temporal gives the failure of the one that was made as the cause of the
 *  timeout; the SDK has it only as it came. */
function messageOf(failure: unknown): string | undefined {
  if (failure instanceof ApplicationFailure) return failure.message
  return (failure instanceof TimeoutFailure && failure.failure?.cause?.message) || undefined
}
