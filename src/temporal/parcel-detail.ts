/** What the workflow of a parcel tells of one of its events. */

import { distinctAttempts } from '../contracts/attempts.ts'
import type { Attempt, DeliverEventInput, DeliveryTarget, HeldEventInput } from '../contracts/delivery.ts'
import { attemptsIn, beginEvent, openEndpoints } from '../contracts/parcel-progress.ts'
import {
  heldDeliveryId,
  steerInParcel,
  type DeliverParcelInput,
  type EventProgress,
  type ParcelRetryRecord,
  type ParcelSteering,
} from '../contracts/parcels.ts'
import { deliveredAtOnce, type TakenAtOnce } from '../contracts/taken-at-once.ts'
import type { DeliveryDetail } from '../schemas/delivery.ts'
import { factsOfProgress, type EndpointFacts } from './endpoint-facts.ts'
import type { Temporal } from './connection.ts'
import { toIso } from './delivery-row.ts'
import { describeExecution } from './describe-execution.ts'
import { isNotFound } from './grpc-errors.ts'
import { first, historyOf, localResult, noteTimers, type HistoryEvent, type RunningTimer } from './history.ts'
import { opened } from './opened.ts'
import { isUnderWay, subjectOf, type PendingActivity } from './pending-activities.ts'
import { isLocalActivity } from './sdk-internals/local-activity.ts'
import { openInput } from './sealed-messages.ts'

/** Where an event of a parcel stands, as the table has it. */
export interface CarriedStanding {
  /** Id of its delivery. */
  id: string
  parcelId: string
  attempts: number
  endedAt: Date | null
  /** Until the parcel's first round is over. */
  input: DeliverEventInput | null
  progress: EventProgress | null
  /** Its attempts where each endpoint took it at once. */
  taken: TakenAtOnce | null
}

export interface CarriedDetail extends Pick<DeliveryDetail, 'attempts' | 'nextAttemptAt' | 'pending' | 'steering'> {
  /** Undefined when its user was erased. */
  input: DeliverEventInput | undefined
  targets: DeliveryTarget[]
  /** Its attempts, oldest first. */
  made: Attempt[]
  facts: EndpointFacts
  /** Of the parcel; undefined when its workflow has not started. */
  runId: string | undefined
}

/** @returns undefined when Temporal does not know the parcel any more */
export async function readCarried(
  temporalServer: Temporal,
  { id, parcelId, attempts, endedAt, input, progress, taken }: CarriedStanding,
  isPaused: (destinationId: string) => boolean,
): Promise<CarriedDetail | undefined> {
  const story = await readParcelStory(temporalServer, parcelId, id)
  const known = story?.input ?? input
  if (known === null) return undefined
  const recorded = progress ?? (taken && deliveredAtOnce(beginEvent(known, 0), taken))
  const made = distinctAttempts([...(story?.attempts ?? []), ...(recorded ? attemptsIn(recorded) : [])])
  const isCancelled = story?.steering.some(({ action }) => action === 'cancel') ?? false
  const isOpen = endedAt === null && !isCancelled
  const pending = isOpen && story !== undefined && progress !== null ? pendingOf(story, progress, isPaused) : []
  const nextTimes = pending.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).sort()
  return {
    input: await openInput(temporalServer.messages, known),
    targets: known.targets,
    facts: factsOfProgress(progress),
    attempts: Math.max(attempts, made.length),
    nextAttemptAt: nextTimes[0] ?? null,
    made,
    pending,
    steering: story?.steering ?? [],
    runId: story?.runId,
  }
}

/** What Temporal has of one event of a parcel. */
export interface ParcelStory {
  runId: string
  input: HeldEventInput
  /** Newest ten at each endpoint, oldest first; the table has the others. */
  attempts: Attempt[]
  steering: DeliveryDetail['steering']
  activities: PendingActivity[]
  /** Those that have a summary wait for a destination. */
  timers: RunningTimer[]
}

/** @returns undefined when Temporal does not know the parcel, or it never had the event */
export async function readParcelStory(
  temporalServer: Temporal,
  parcelId: string,
  deliveryId: string,
): Promise<ParcelStory | undefined> {
  try {
    const { workflowExecutionInfo, pendingActivities } = await describeExecution(temporalServer, {
      workflowId: parcelId,
    })
    const runId = workflowExecutionInfo?.execution?.runId ?? ''
    const records: EventProgress[] = []
    const steering: DeliveryDetail['steering'] = []
    const timers = new Map<string, RunningTimer>()
    let place = -1
    let input: HeldEventInput | undefined
    for await (const event of historyOf(temporalServer, { workflowId: parcelId, runId })) {
      const at = toIso(event.eventTime) ?? ''
      const started = first<DeliverParcelInput>(event.workflowExecutionStartedEventAttributes?.input)
      if (started !== undefined) {
        place = placeOf(temporalServer.names, started, deliveryId)
        input = inputAt(started, place)
        if (input === undefined) return undefined
      }
      records.push(...(recordIn(event)?.progress ?? []))
      steering.push(...steeringIn(event, { place, deliveryId }, at))
      noteTimers(timers, event, at)
    }
    if (input === undefined) return undefined
    records.push(...pendingActivities.flatMap((activity) => recordsOf(activity).flatMap(({ progress }) => progress)))
    const attempts = distinctAttempts(records.filter((record) => record.place === place).flatMap(attemptsIn))
    return { runId, input, attempts, steering, activities: pendingActivities, timers: [...timers.values()] }
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** The events of a parcel, from the beginning of its history.
 *  @returns undefined when Temporal does not know the parcel */
export async function readParcelInput(
  { client, namespace, payloads }: Temporal,
  parcelId: string,
): Promise<DeliverParcelInput | undefined> {
  try {
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId: parcelId },
      maximumPageSize: 1,
    })
    const [started] = opened(payloads, history?.events ?? [])
    return first<DeliverParcelInput>(started?.workflowExecutionStartedEventAttributes?.input)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** @returns undefined when the parcel never had the event */
export const inputOf = (
  names: Temporal['names'],
  parcel: DeliverParcelInput,
  deliveryId: string,
): HeldEventInput | undefined => inputAt(parcel, placeOf(names, parcel, deliveryId))

function placeOf(names: Temporal['names'], { events }: DeliverParcelInput, deliveryId: string): number {
  const ids = new Set(names.workflowIds(deliveryId))
  return events.findIndex((event) => names.workflowIds(heldDeliveryId(event)).some((id) => ids.has(id)))
}

function inputAt({ events, retry }: DeliverParcelInput, place: number): HeldEventInput | undefined {
  const event = events[place]
  if (event === undefined) return undefined
  const { receivedAt, ...input } = event
  return { ...input, retry, acceptedAt: receivedAt }
}

/** What an activity that ended knew of the events: the first round, reading, trying on. */
function recordIn(event: HistoryEvent): Partial<ParcelRetryRecord> | undefined {
  if (isLocalActivity(event)) return localResult<Partial<ParcelRetryRecord>>(event)
  const { activityTaskCompletedEventAttributes: completed, activityTaskFailedEventAttributes: failed } = event
  const { activityTaskTimedOutEventAttributes: timedOut, activityTaskCanceledEventAttributes: cancelled } = event
  return (
    first(completed?.result) ??
    first(failed?.failure?.applicationFailureInfo?.details) ??
    first(timedOut?.failure?.timeoutFailureInfo?.lastHeartbeatDetails) ??
    first(cancelled?.details) ??
    undefined
  )
}

/** Of an activity that waits or runs: its heartbeat, and its last failure. */
const recordsOf = ({ heartbeatDetails, lastFailure }: PendingActivity): ParcelRetryRecord[] =>
  [heartbeatDetails, lastFailure?.applicationFailureInfo?.details].flatMap(
    (details) => first<ParcelRetryRecord>(details) ?? [],
  )

function steeringIn(
  event: HistoryEvent,
  { place, deliveryId }: { place: number; deliveryId: string },
  at: string,
): DeliveryDetail['steering'] {
  const { workflowExecutionSignaledEventAttributes: signaled } = event
  if (signaled?.signalName === steerInParcel) {
    const order = first<ParcelSteering>(signaled.input)
    if (order === undefined || (order.place === undefined ? order.deliveryId !== deliveryId : order.place !== place))
      return []
    const { by = null, why = null } = order.trace
    return [{ at, action: order.action, by, why }]
  }
  const { workflowExecutionCancelRequestedEventAttributes: cancel } = event
  if (!cancel) return []
  return [
    { at, action: 'cancel', by: cancel.identity ?? null, why: cancel.cause === '' ? null : (cancel.cause ?? null) },
  ]
}

function pendingOf(
  { activities, timers }: ParcelStory,
  { destinations }: EventProgress,
  isPaused: (destinationId: string) => boolean,
): DeliveryDetail['pending'] {
  return destinations.flatMap((destination) => {
    const { destinationId } = destination
    const activity = activities.find((one) => subjectOf(one) === destinationId)
    const running = activity !== undefined && isUnderWay(activity)
    const timer = timers.find(({ summary }) => summary === destinationId)
    const scheduled = toIso(activity?.nextAttemptScheduleTime) ?? toIso(activity?.scheduledTime)
    const roundAt = running ? null : (scheduled ?? timer?.firesAt.toISOString() ?? null)
    // The next round may be for others.
    const notBefore = (dueAt = 0): string | null =>
      roundAt !== null && dueAt > Date.parse(roundAt) ? new Date(dueAt).toISOString() : roundAt
    return openEndpoints(destination)
      .filter(({ waits }) => waits !== 'hold')
      .map(({ endpointId, dueAt }) => ({
        endpointId,
        running,
        nextAttemptAt: isPaused(destinationId) ? null : notBefore(dueAt),
      }))
  })
}

/** How far the activity of a destination is that waits or runs: in its heartbeat, which each failure leaves behind.
 *  @throws when Temporal does not answer */
export async function readPendingRecord(
  temporalServer: Temporal,
  workflowId: string,
  destinationId: string,
): Promise<ParcelRetryRecord | undefined> {
  const { pendingActivities } = await describeExecution(temporalServer, { workflowId })
  return first(pendingActivities.find((activity) => subjectOf(activity) === destinationId)?.heartbeatDetails)
}
