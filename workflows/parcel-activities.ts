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
import type { Parcel } from './parcel.ts'

/** No attempt of a round begins later than after some seconds, and each takes 5 s at most. */
const roundLimit = '30 seconds'

export const parcelLocal = proxyLocalActivities<Pick<ParcelActivities, 'attemptParcel'>>({
  startToCloseTimeout: roundLimit,
  retry: { maximumAttempts: 1 },
})

const localReads = proxyLocalActivities<Pick<ParcelActivities, 'readParcelProgress'>>({
  startToCloseTimeout: '3 seconds',
  retry: { maximumAttempts: 1 },
})

/** Not cancelled: the cancellation that it precedes must not lose what it reads. */
export const readParcelProgress = (destinationId: string): Promise<ParcelRetryRecord | undefined> =>
  CancellationScope.nonCancellable(() => localReads.readParcelProgress(destinationId)).catch(() => undefined)

const retryOptions = (destinationId: string, retry: RetrySchedule) =>
  ({
    startToCloseTimeout: '1 minute',
    heartbeatTimeout: '10 seconds',
    // What was attempted until then counts.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: afterLostTries(retry),
    priority: { priorityKey: retryPriority, fairnessKey: destinationId },
    summary: destinationId,
  }) as const

/** @param remainingMs  what is left of the retry window: the schedule-to-close limit */
export const retried = (destinationId: string, retry: RetrySchedule, remainingMs: number) =>
  proxyActivities<Pick<ParcelActivities, 'retryInParcel'>>({
    ...retryOptions(destinationId, retry),
    scheduleToCloseTimeout: remainingMs,
  })

/** One more round, whatever the window says, for events that no worker was there for. */
export const lastRound = (destinationId: string, retry: RetrySchedule) =>
  proxyActivities<Pick<ParcelActivities, 'retryInParcel'>>({
    ...retryOptions(destinationId, retry),
    retry: { maximumAttempts: 3, initialInterval: '1 second' },
  })

/** Repeated by Temporal for as long as the database, or Temporal for a start, is away. */
const persistent = proxyActivities<Pick<ParcelActivities, 'recordParcel' | 'startFromParcel'>>({
  startToCloseTimeout: '15 seconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '15 seconds' },
})

export const { startFromParcel } = persistent

/** Brings the list of deliveries up to date, unless it is. */
export async function record(parcel: Pick<Parcel, 'unrecorded'>): Promise<void> {
  const changed = parcel.unrecorded()
  if (changed.length > 0) await persistent.recordParcel(changed)
}

/** The same, also when the workflow is cancelled meanwhile. */
export const recordForSure = (parcel: Pick<Parcel, 'unrecorded'>): Promise<void> =>
  CancellationScope.nonCancellable(() => record(parcel))
