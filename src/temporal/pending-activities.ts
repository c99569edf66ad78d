/** Activities of a delivery that wait or run: its attempts so far, and when the next ones are. */

import proto, { type temporal } from '@temporalio/proto'
import { distinctAttempts } from '../contracts/attempts.ts'
import type { Attempt, AttemptRecord } from '../contracts/delivery.ts'
import type { DeliveryDetail } from '../schemas/delivery.ts'
import { toIso } from './delivery-row.ts'
import { attemptsOfFailure } from './delivery-story.ts'
import { first, type RunningTimer } from './history.ts'

export type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo
type Pending = DeliveryDetail['pending'][number]

const { PENDING_ACTIVITY_STATE_STARTED, PENDING_ACTIVITY_STATE_CANCEL_REQUESTED } =
  proto.temporal.api.enums.v1.PendingActivityState

/** What it is at, as the workflow named it when it was scheduled: an endpoint, or for parcels a destination. */
export const subjectOf = ({ activityOptions, priority }: PendingActivity): string =>
  activityOptions?.priority?.fairnessKey ?? priority?.fairnessKey ?? ''

export const isUnderWay = ({ state }: PendingActivity): boolean => state === PENDING_ACTIVITY_STATE_STARTED

/** The last failure has all attempts of the activity; before the first failure, or after a lost worker, the heartbeat. */
export const attemptsOfPending = ({ lastFailure, heartbeatDetails }: PendingActivity): Attempt[] =>
  distinctAttempts([...attemptsOfFailure(lastFailure), ...(first<AttemptRecord>(heartbeatDetails)?.attempts ?? [])])

/** Why its last try failed. Temporal has texts of its own in the place of a failure that is too long for it, and of a try whose node died. */
export const reasonOfPending = (activity: PendingActivity): string | undefined => {
  const { lastFailure } = activity
  if (lastFailure?.serverFailureInfo ?? lastFailure?.timeoutFailureInfo)
    return attemptsOfPending(activity).at(-1)?.error
  return lastFailure?.message ?? undefined
}

/** Each endpoint once, in the order of `endpointIds`.
 *  @param isPaused  whether the endpoint's destination is paused: its attempt is not made when it is due */
export function pendingEndpoints(
  activities: readonly PendingActivity[],
  timers: readonly RunningTimer[],
  endpointIds: readonly string[],
  isPaused: (endpointId: string) => boolean,
): Pending[] {
  const waiting = [...activities.filter(isWaiting).map(toPending), ...timers.flatMap(ofTimer)]
  return endpointIds.flatMap((endpointId) => {
    const own = waiting.filter((one) => one.endpointId === endpointId)
    if (own.length === 0) return []
    const running = own.some((one) => one.running)
    const [next = null] = own.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).sort()
    return [{ endpointId, running, nextAttemptAt: running || isPaused(endpointId) ? null : next }]
  })
}

/** One that is being cancelled makes no further attempt. */
const isWaiting = ({ state }: PendingActivity): boolean => state !== PENDING_ACTIVITY_STATE_CANCEL_REQUESTED

const toPending = (activity: PendingActivity): Pending => ({
  endpointId: subjectOf(activity),
  running: isUnderWay(activity),
  nextAttemptAt: toIso(activity.nextAttemptScheduleTime) ?? toIso(activity.scheduledTime),
})

/** An endpoint that pauses before its first retry. */
const ofTimer = ({ firesAt, summary }: RunningTimer): Pending[] =>
  summary === undefined ? [] : [{ endpointId: summary, running: false, nextAttemptAt: firesAt.toISOString() }]
