/** How `syncAudience` calls its activities: time limits, retries, priority. While the database or another part of Postrider is away,
 *  Temporal repeats without end; only servers of others are given up. */

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

/** Priority of syncs, behind live deliveries and their retries; 3 is Temporal's default, 1 comes first. */
const priority = { priorityKey: 5 }

/** A stop waits until calls under way are recorded. */
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED

/** Time after which a lost worker is noticed. */
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

/** Fetches the membership. After `maxSourceTries` failures of its server, with the pauses of deliveries, the sync fails, and the next
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

/** Sends for some seconds. A destination that is down is tried for the whole retry window; the activity sees to that. */
export const sending = ({ maxMs }: RetrySchedule, destinationId: string) =>
  proxyActivities<Pick<AudienceActivities, 'sendChanges'>>({
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout,
    cancellationType,
    retry: { initialInterval, maximumInterval: Math.min(maxMs, longestIntervalMs) },
    priority,
    summary: destinationId,
  })
