/** Activities that try on: Temporal repeats them until the retry window is over, and each try goes on where the last one ended. */

import { ApplicationFailure, Context } from '@temporalio/activity'
import type { WaitingTry } from '../src/contracts/delivery.ts'

/** When the retry window ends, in milliseconds since 1970. */
export function windowEndsAt(): number {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = Context.current().info
  return scheduledTimestampMs + scheduleToCloseTimeoutMs
}

/** This try, for whoever wakes the next one. */
export function thisTry(): WaitingTry {
  const { workflowExecution: { workflowId, runId } = { workflowId: '', runId: '' }, activityId } =
    Context.current().info
  return { workflowId, runId, activityId }
}

/** Whether the next try comes before its time: Temporal counts the tries of an activity that was reset from 1 on, and keeps what the last
 *  one left behind. */
export const isWoken = (): boolean => Context.current().info.attempt === 1 && recordOfLastTry() !== undefined

/** What the last try left behind; undefined in the first one. */
export const recordOfLastTry = <Record>(): Record | undefined =>
  Context.current().info.heartbeatDetails as Record | undefined

/** The failure that ends a try after which another follows; the receiver caused it.
 *  @param message  why, in words for the operator
 *  @param record  what the next try, or the workflow, goes on with
 *  @param inMs  pause before the next try, in milliseconds; no try follows where the window ends before */
export function tryAgain(type: string, message: string, record: object, inMs: number): ApplicationFailure {
  // Details of a heartbeat outlive the failed try.
  Context.current().heartbeat(record)
  return ApplicationFailure.create({ type, message, details: [record], category: 'BENIGN', nextRetryDelay: inMs })
}
