/** How `syncAudience` calls its activities: time limits, retries, priority. */

import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow'
import { audienceFailures, type AudienceActivities } from '../src/contracts/audiences.ts'
import type { RetrySchedule } from '../src/contracts/delivery.ts'

/** Behind live deliveries and their retries; 3 is Temporal's default, 1 comes first. */
const priority = { priorityKey: 5 }

/** A stop waits until what is under way is settled. */
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED

/** A lost worker is noticed after this time. */
const heartbeatTimeout = '6 seconds'

/** The database may be away for as long as it likes: nothing is given up. */
export const bookkeeping = proxyActivities<Pick<AudienceActivities, 'beginSync' | 'compareMembership' | 'finishSync'>>({
  startToCloseTimeout: '12 hours',
  heartbeatTimeout,
  cancellationType,
  retry: {
    initialInterval: '500 milliseconds',
    maximumInterval: '30 seconds',
    nonRetryableErrorTypes: [audienceFailures.membershipUnusable],
  },
  priority,
})

/** Another server: after some tries the sync fails, and the next one tries again. */
export const fetching = proxyActivities<Pick<AudienceActivities, 'loadMembership'>>({
  startToCloseTimeout: '12 hours',
  heartbeatTimeout,
  cancellationType,
  retry: {
    initialInterval: '2 seconds',
    maximumAttempts: 6,
    nonRetryableErrorTypes: [audienceFailures.membershipUnusable],
  },
  priority,
})

/** A stretch of sending takes seconds; a destination that is down is tried for the whole retry window. */
export const sending = (retry: RetrySchedule, destinationId: string) =>
  proxyActivities<Pick<AudienceActivities, 'sendChanges'>>({
    startToCloseTimeout: '5 minutes',
    scheduleToCloseTimeout: retry.windowMs + 300_000,
    heartbeatTimeout,
    cancellationType,
    retry: { initialInterval: '500 milliseconds', maximumInterval: retry.maxMs },
    priority,
    summary: destinationId,
  })
