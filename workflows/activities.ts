/** How the workflow calls its activities: time limits, retries, priority. */

import {
  ActivityCancellationType,
  CancellationScope,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow'
import type { DeliveryActivities, DestinationState, PendingAttempts, RetrySchedule } from '../src/contracts/delivery.ts'
import type { InTurn } from './one-at-a-time.ts'

/** An attempt takes as long as its endpoint is given at most, up to 30 s; the rest is for a loaded worker. */
const attemptLimit = '40 seconds'

/** How long an activity may be silent, and how long a read may take. */
const silenceLimit = '10 seconds'

/** Priority of retries, behind first attempts when workers are busy; 3 is Temporal's default, 1 comes first. */
export const retryPriority = 4

/** Activities that run inside a workflow task, on the worker that has it: no state transition of their own. Each is tried
 *  once, since a task holds a slot of its worker. */
export const local = proxyLocalActivities<Pick<DeliveryActivities, 'attemptDelivery'>>({
  startToCloseTimeout: attemptLimit,
  retry: { maximumAttempts: 1 },
})

/** Reads inside a workflow task; they take milliseconds when the database and Temporal are there. */
const localReads = proxyLocalActivities<Pick<DeliveryActivities, 'readDestination' | 'readPendingAttempts'>>({
  startToCloseTimeout: '3 seconds',
  retry: { maximumAttempts: 1 },
})

const localNotes = proxyLocalActivities<Pick<DeliveryActivities, 'leaveLine'>>({
  startToCloseTimeout: '3 seconds',
  retry: { maximumAttempts: 1 },
})

/** Activities that Temporal repeats, on any worker, for as long as the database is away. */
const persistent = proxyActivities<Pick<DeliveryActivities, 'readDestination' | 'leaveLine'>>({
  startToCloseTimeout: silenceLimit,
  retry: { initialInterval: '500 milliseconds', maximumInterval: '15 seconds' },
})

/** Gives up a place in the line of a user, however long that takes: whoever is behind it waits. Never cancelled, as the read of a
 *  destination. */
export const leaveLine = (inTurn: InTurn, ticket: string): Promise<void> =>
  CancellationScope.nonCancellable(() =>
    inTurn(() => localNotes.leaveLine(ticket)).catch(() => persistent.leaveLine(ticket)),
  )

/** The destination as it is now, however long that takes to find out. Inside the workflow task it is read once, and never
 *  cancelled: a cancellation that meets the answer fails the workflow task for good (seen with SDK 1.24: "Invalid
 *  transition in state machine"). */
export async function readDestination(inTurn: InTurn, destinationId: string): Promise<DestinationState> {
  try {
    return await CancellationScope.nonCancellable(() => inTurn(() => localReads.readDestination(destinationId)))
  } catch {
    return persistent.readDestination(destinationId)
  }
}

/** Attempts of the activities that wait for the endpoint, or for any; the marker in the history keeps them. The read is never cancelled, as
 *  that of a destination. It answers none when Temporal does not answer: the end of a delivery does not wait for its list of attempts. */
export const readPendingAttempts = (inTurn: InTurn, endpointId?: string): Promise<PendingAttempts> =>
  CancellationScope.nonCancellable(() => inTurn(() => localReads.readPendingAttempts(endpointId))).catch(() => ({
    attempts: [],
  }))

/** Pauses after tries that were lost with their worker; a try that fails tells its pause itself. */
export const afterLostTries = ({ maxMs }: RetrySchedule) =>
  ({ initialInterval: Math.min(1_000, maxMs), backoffCoefficient: 2, maximumInterval: maxMs }) as const

/** Activities that Temporal schedules and retries.
 *  @param remainingMs  what is left of the retry window: their schedule-to-close limit */
export const scheduled = (endpointId: string, retry: RetrySchedule, remainingMs: number) =>
  proxyActivities<Pick<DeliveryActivities, 'attemptInTurn' | 'retryDelivery'>>({
    scheduleToCloseTimeout: remainingMs,
    startToCloseTimeout: attemptLimit,
    // A lost worker is noticed, and a cancellation reaches a running request, by the heartbeats that the activity sends.
    heartbeatTimeout: silenceLimit,
    // What a request that was stopped came to is told, too.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: afterLostTries(retry),
    priority: { priorityKey: retryPriority, fairnessKey: endpointId },
    summary: endpointId,
  })

/** Makes one attempt now, whatever the retry policy says. It is tried again only when its worker was lost, or there was no place for it,
 *  since what the endpoint answers is a result and no failure. */
export const once = (endpointId: string) =>
  proxyActivities<Pick<DeliveryActivities, 'attemptInTurn'>>({
    scheduleToCloseTimeout: '1 minute',
    startToCloseTimeout: attemptLimit,
    heartbeatTimeout: silenceLimit,
    // What a request that was stopped came to is told, too.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: 5, initialInterval: '1 second' },
    priority: { fairnessKey: endpointId },
    summary: `retry now: ${endpointId}`,
  })
