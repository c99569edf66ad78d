/** One delivery with every attempt, read from its workflow's history and pending activities. */

import proto, { type temporal } from '@temporalio/proto'
import type { Attempt, AttemptOutcome, AttemptRecord, DeliverEventInput, RetryOutcome } from '../contracts/delivery.ts'
import { signals, type SteeringTrace } from '../contracts/delivery.ts'
import type { Delivery, DeliveryDetail } from '../schemas/delivery.ts'
import type { Temporal } from './connection.ts'
import { toDelivery, toDeliveryAttempt, toIso, type ExecutionInfo } from './delivery-row.ts'
import { isNotFound } from './grpc-errors.ts'
import { decode, first, historyOf, localResult, noteTimers, type HistoryEvent, type RunningTimer } from './history.ts'
import { readParcelStory } from './parcel-detail.ts'
import { isLocalActivity } from './sdk-internals/local-activity.ts'

type Failure = temporal.api.failure.v1.IFailure
type PendingActivity = temporal.api.workflow.v1.IPendingActivityInfo

/** Runs of a delivery that is held again and again: each has thousands of events. */
const maxRuns = 5

/** What a history says of a delivery. */
interface Story {
  input: DeliverEventInput | undefined
  attempts: Attempt[]
  steering: DeliveryDetail['steering']
  reason: string | null
  /** Those that have a summary wait for an endpoint. */
  timers: Map<string, RunningTimer>
}

/** What Temporal knows of a delivery. */
export interface StartedDelivery extends Omit<DeliveryDetail, 'body' | 'requests' | 'temporalUiUrl'> {
  input: DeliverEventInput
  runId: string
}

/** @returns undefined when Temporal does not know the delivery */
export async function readDelivery(
  temporalServer: Temporal,
  deliveryId: string,
  isPaused: (destinationId: string) => boolean,
): Promise<StartedDelivery | undefined> {
  const { client, namespace } = temporalServer
  const execution = { workflowId: deliveryId }
  try {
    const { workflowExecutionInfo, pendingActivities } = await client.workflowService.describeWorkflowExecution({
      namespace,
      execution,
    })
    const runId = workflowExecutionInfo?.execution?.runId ?? ''
    const story = await readHistory(temporalServer, deliveryId, runId)
    if (!workflowExecutionInfo || story.input === undefined) return undefined
    const before = await readBefore(temporalServer, workflowExecutionInfo, deliveryId)
    const made = [...before.attempts, ...story.attempts, ...pendingActivities.flatMap(pendingAttempts)]
    const timeline = made.sort((a, b) => a.at.localeCompare(b.at))
    const delivery = toDelivery(workflowExecutionInfo, isPaused)
    const pending = delivery.endedAt === null ? [...pendingActivities.map(toPending), ...waitingForTimers(story)] : []
    const nextTimes = pending.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).sort()
    return {
      ...delivery,
      input: story.input,
      runId,
      attempts: timeline.length,
      nextAttemptAt: delivery.status === 'held' ? null : (nextTimes[0] ?? null),
      reason:
        story.reason ??
        reasonNow(delivery, pendingActivities) ??
        delivery.reason ??
        timeline.findLast(({ error }) => error !== undefined)?.error ??
        null,
      message: story.input.message,
      timeline: timeline.map(toDeliveryAttempt),
      pending,
      steering: [...orderedBy(workflowExecutionInfo), ...before.steering, ...story.steering],
    }
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** What became of an event in its parcel, before an operator gave it a workflow of its own. */
async function readBefore(
  temporalServer: Temporal,
  { memo }: ExecutionInfo,
  deliveryId: string,
): Promise<Pick<Story, 'attempts' | 'steering'>> {
  const payload = memo?.fields?.['parcel']
  const story = payload && (await readParcelStory(temporalServer, decode(payload) as string, deliveryId))
  return story ?? { attempts: [], steering: [] }
}

/** A repeated delivery tells in its memo who ordered it. */
function orderedBy({ memo, startTime }: ExecutionInfo): DeliveryDetail['steering'] {
  const payload = memo?.fields?.['redelivery']
  if (!payload) return []
  const { by = null, why = null } = decode(payload) as SteeringTrace
  return [{ at: toIso(startTime) ?? '', action: 'redeliver', by, why }]
}

/** The last run first; earlier ones are there for as long as Temporal keeps what has ended. */
async function readHistory(temporalServer: Temporal, workflowId: string, runId: string): Promise<Story> {
  const story: Story = { input: undefined, attempts: [], steering: [], reason: null, timers: new Map() }
  let earlier = await readRun(temporalServer, { workflowId, runId }, story)
  for (let runs = 1; earlier && runs < maxRuns; runs++)
    earlier = await readRun(temporalServer, { workflowId, runId: earlier }, story).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
      return undefined
    })
  story.steering.sort((a, b) => a.at.localeCompare(b.at))
  return story
}

/** @returns id of the run that it continues */
async function readRun(
  temporalServer: Temporal,
  execution: { workflowId: string; runId: string },
  story: Story,
): Promise<string | undefined> {
  let continued: string | undefined
  for await (const event of historyOf(temporalServer, execution)) {
    continued ??= event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined
    tell(story, event)
  }
  return continued
}

function tell(story: Story, event: HistoryEvent): void {
  const at = toIso(event.eventTime) ?? ''
  if (event.workflowExecutionStartedEventAttributes) {
    const given = first<DeliverEventInput>(event.workflowExecutionStartedEventAttributes.input)
    if (given === undefined) return
    const { resumed: _, ...input } = given
    story.input = input
  } else if (isLocalActivity(event)) {
    story.attempts.push(...attemptsOfResult(localResult(event)))
  } else if (event.activityTaskCompletedEventAttributes) {
    story.attempts.push(...(first<RetryOutcome>(event.activityTaskCompletedEventAttributes.result)?.attempts ?? []))
  } else if (event.activityTaskFailedEventAttributes) {
    story.attempts.push(...attemptsOfFailure(event.activityTaskFailedEventAttributes.failure))
  } else if (event.workflowExecutionSignaledEventAttributes?.signalName === signals.retryNow) {
    const trace = first<SteeringTrace>(event.workflowExecutionSignaledEventAttributes.input)
    story.steering.push({ at, action: 'retry', by: trace?.by ?? null, why: trace?.why ?? null })
  } else if (event.workflowExecutionCancelRequestedEventAttributes) {
    const { identity, cause } = event.workflowExecutionCancelRequestedEventAttributes
    story.steering.push({ at, action: 'cancel', by: identity ?? null, why: cause === '' ? null : (cause ?? null) })
  } else if (event.workflowExecutionFailedEventAttributes) {
    story.reason = event.workflowExecutionFailedEventAttributes.failure?.message ?? null
  } else {
    noteTimers(story.timers, event, at)
  }
}

/** Of a local activity: its attempt, or the attempts that it read of another one. */
function attemptsOfResult(result: AttemptOutcome | { attempts: Attempt[] } | undefined): Attempt[] {
  if (result === undefined) return []
  if ('attempts' in result) return result.attempts
  return 'attempt' in result && result.attempt !== undefined ? [result.attempt] : []
}

function attemptsOfFailure(failure: Failure | null | undefined): Attempt[] {
  return first<AttemptRecord>(failure?.applicationFailureInfo?.details)?.attempts ?? []
}

/** Attempts of the activities of a delivery that wait or run.
 *  @throws when Temporal does not answer */
export async function readPendingAttempts(
  { client, namespace }: Temporal,
  execution: { workflowId: string; runId: string },
): Promise<Attempt[]> {
  const { pendingActivities } = await client.workflowService.describeWorkflowExecution({ namespace, execution })
  return pendingActivities.flatMap(pendingAttempts)
}

/** The last failure has all attempts of the activity; before the first failure, or after a lost worker, the heartbeat. */
function pendingAttempts({ lastFailure, heartbeatDetails }: PendingActivity): Attempt[] {
  const failed = attemptsOfFailure(lastFailure)
  const recorded = first<AttemptRecord>(heartbeatDetails)?.attempts ?? []
  return failed.length >= recorded.length ? failed : recorded
}

/** Why a delivery waits: what the last try of an activity came to. */
const reasonNow = ({ status }: Pick<Delivery, 'status'>, activities: readonly PendingActivity[]): string | undefined =>
  status === 'delivering' || status === 'retrying'
    ? activities.flatMap(({ lastFailure }) => lastFailure?.message ?? []).at(-1)
    : undefined

function toPending(activity: PendingActivity): DeliveryDetail['pending'][number] {
  const input = activity.activityOptions
  const running = activity.state === proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
  return {
    endpointId: input?.priority?.fairnessKey ?? activity.priority?.fairnessKey ?? '',
    running,
    nextAttemptAt: running ? null : (toIso(activity.nextAttemptScheduleTime) ?? toIso(activity.scheduledTime)),
  }
}

/** Endpoints that pause before their first retry. */
const waitingForTimers = ({ timers }: Story): DeliveryDetail['pending'] =>
  [...timers.values()].flatMap(({ firesAt, summary }) =>
    summary === undefined ? [] : [{ endpointId: summary, running: false, nextAttemptAt: firesAt.toISOString() }],
  )
