/** How `syncAudience` calls its activities: time limits, retries, priority. What is away on our own side, such as the
 *  database, may be away for as long as it likes: Temporal repeats without end, and only others are given up. */

import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  patched,
  proxyActivities,
  sleep,
} from '@temporalio/workflow'
import { audienceFailures, type AudienceActivities, type SyncDescription } from '../src/contracts/audience-sync.ts'
import type { RetrySchedule } from '../src/contracts/delivery.ts'
import { retryDelayMs } from '../src/contracts/retry-delay.ts'

/** Behind live deliveries and their retries; 3 is Temporal's default, 1 comes first. */
const priority = { priorityKey: 5 }

/** A stop waits until what is under way is settled. */
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED

/** A lost worker is noticed after this time. */
const heartbeatTimeout = '6 seconds'

const initialInterval = '500 milliseconds'
const longestIntervalMs = 30_000

export const bookkeeping = proxyActivities<Pick<AudienceActivities, 'beginSync' | 'compareMembership' | 'finishSync'>>({
  startToCloseTimeout: '12 hours',
  heartbeatTimeout,
  cancellationType,
  retry: {
    initialInterval,
    maximumInterval: longestIntervalMs,
    nonRetryableErrorTypes: [audienceFailures.membershipUnusable],
  },
  priority,
})

/** Tries at the server that a membership comes from. */
const maxSourceTries = 6

const fetching = ({ maxMs }: RetrySchedule) =>
  proxyActivities<Pick<AudienceActivities, 'loadMembership'>>({
    startToCloseTimeout: '12 hours',
    heartbeatTimeout,
    cancellationType,
    retry: {
      initialInterval,
      maximumInterval: Math.min(maxMs, longestIntervalMs),
      nonRetryableErrorTypes: [audienceFailures.membershipUnusable, audienceFailures.sourceFailed],
    },
    priority,
  })

/** Fetches the membership. Where its server fails some times, with the pauses of deliveries, the sync does, and the next
 *  one tries again.
 *  @throws ActivityFailure */
export async function loadMembership(sync: SyncDescription): Promise<{ rowsRead: number }> {
  for (let tries = 1; ; tries++) {
    try {
      return await fetching(sync.retry).loadMembership(sync)
    } catch (error) {
      if (!isSourceFault(error) || tries === maxSourceTries || !patched('source-asked-again')) throw error
      await sleep(retryDelayMs({ ...sync.retry, attempt: tries, random: Math.random }))
    }
  }
}

const isSourceFault = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof ApplicationFailure &&
  error.cause.type === audienceFailures.sourceFailed

/** A stretch of sending takes seconds. A destination that is down is tried for the whole retry window, of which the activity
 *  takes care. */
export const sending = ({ maxMs }: RetrySchedule, destinationId: string) =>
  proxyActivities<Pick<AudienceActivities, 'sendChanges'>>({
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    cancellationType,
    retry: { initialInterval, maximumInterval: Math.min(maxMs, longestIntervalMs) },
    priority,
    summary: destinationId,
  })
