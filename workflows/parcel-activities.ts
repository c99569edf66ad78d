/** How the workflow of a parcel calls its activities. */

import {
  ActivityCancellationType,
  CancellationScope,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow'
import type { RetrySchedule } from '../src/contracts/delivery.ts'
import type { ParcelActivities, ParcelRetryRecord } from '../src/contracts/parcels.ts'
import { afterLostTries, retryPriority } from './activities.ts'
import type { InTurn } from './one-at-a-time.ts'
import type { Parcel } from './parcel.ts'

/** Limit of a round: its attempts begin within some seconds, and each takes 30 s at most. */
const roundLimit = '1 minute'

export const parcelLocal = proxyLocalActivities<Pick<ParcelActivities, 'attemptParcel'>>({
  startToCloseTimeout: roundLimit,
  retry: { maximumAttempts: 1 },
})

const localReads = proxyLocalActivities<Pick<ParcelActivities, 'readParcelProgress'>>({
  startToCloseTimeout: '3 seconds',
  retry: { maximumAttempts: 1 },
})

/** Reads how far the activity of a destination is. The read is never cancelled: it is made before that activity is cancelled, and what
 *  it answers must not be lost. */
export const readParcelProgress = (inTurn: InTurn, destinationId: string): Promise<ParcelRetryRecord | undefined> =>
  CancellationScope.nonCancellable(() => inTurn(() => localReads.readParcelProgress(destinationId))).catch(
    () => undefined,
  )

const retryOptions = (destinationId: string, retry: RetrySchedule) =>
  ({
    startToCloseTimeout: roundLimit,
    heartbeatTimeout: '10 seconds',
    // The activity tells what it attempted until it was cancelled.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: afterLostTries(retry),
    priority: { priorityKey: retryPriority, fairnessKey: destinationId },
    summary: destinationId,
  }) as const

/** Activities that try on at a destination.
 *  @param remainingMs  what is left of the retry window: the schedule-to-close limit */
export const retried = (destinationId: string, retry: RetrySchedule, remainingMs: number) =>
  proxyActivities<Pick<ParcelActivities, 'retryInParcel'>>({
    ...retryOptions(destinationId, retry),
    scheduleToCloseTimeout: remainingMs,
  })

/** Makes one more round, whatever the window says, for events that no worker was there for. */
export const lastRound = (destinationId: string, retry: RetrySchedule) =>
  proxyActivities<Pick<ParcelActivities, 'retryInParcel'>>({
    ...retryOptions(destinationId, retry),
    retry: { maximumAttempts: 3, initialInterval: '1 second' },
  })

/** Activities that Temporal repeats for as long as the database, or Temporal for a start, is away. */
const persistent = proxyActivities<Pick<ParcelActivities, 'recordParcel' | 'startFromParcel'>>({
  startToCloseTimeout: '15 seconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '15 seconds' },
})

export const { startFromParcel } = persistent

/** Brings the list of deliveries up to date where it is not. */
export async function record(parcel: Pick<Parcel, 'unrecorded'>): Promise<void> {
  const changed = parcel.unrecorded()
  if (changed.length > 0) await persistent.recordParcel(changed)
}

/** Brings the list of deliveries up to date, even when the workflow is cancelled meanwhile. */
export const recordForSure = (parcel: Pick<Parcel, 'unrecorded'>): Promise<void> =>
  CancellationScope.nonCancellable(() => record(parcel))
