/** What the history of a delivery's workflow says of it. */

import type {
  Attempt,
  AttemptOutcome,
  AttemptRecord,
  DeliverEventResult,
  DestinationResult,
  DestinationStanding,
  HeldEventInput,
  RetryOutcome,
} from '../contracts/delivery.ts'
import { signals, type SteeringTrace } from '../contracts/delivery.ts'
import type { DeliveryDetail } from '../schemas/delivery.ts'
import type { temporal } from '@temporalio/proto'
import type { Temporal } from './connection.ts'
import { toIso } from './delivery-row.ts'
import { isNotFound } from './grpc-errors.ts'
import { first, historyOf, localResult, noteTimers, type HistoryEvent, type RunningTimer } from './history.ts'
import { isLocalActivity } from './sdk-internals/local-activity.ts'

type Failure = temporal.api.failure.v1.IFailure

/** Runs of a delivery that is held again and again: each has thousands of events. */
const maxRuns = 5

export interface DeliveryStory {
  input: HeldEventInput | undefined
  /** Where destinations stood when the last run began. */
  given: DestinationStanding[]
  /** Those that activities have reported, as the history has them: some more than once. */
  attempts: Attempt[]
  /** Why endpoints refused it for good. */
  refusals: Map<string, string>
  steering: DeliveryDetail['steering']
  /** Its result, when it has one. */
  results: DestinationResult[]
  reason: string | null
  /** Somebody asked for its end. */
  isCancelled: boolean
  /** Those that have a summary wait for an endpoint. */
  timers: Map<string, RunningTimer>
}

/** The last run first; earlier ones are there for as long as Temporal keeps what has ended. */
export async function readStory(temporalServer: Temporal, workflowId: string, runId: string): Promise<DeliveryStory> {
  const story: DeliveryStory = {
    input: undefined,
    given: [],
    attempts: [],
    refusals: new Map(),
    steering: [],
    results: [],
    reason: null,
    isCancelled: false,
    timers: new Map(),
  }
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
  story: DeliveryStory,
): Promise<string | undefined> {
  let continued: string | undefined
  for await (const event of historyOf(temporalServer, execution)) {
    continued ??= event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined
    tell(story, event)
  }
  return continued
}

function tell(story: DeliveryStory, event: HistoryEvent): void {
  const at = toIso(event.eventTime) ?? ''
  if (event.workflowExecutionStartedEventAttributes) {
    tellBeginning(story, first<HeldEventInput>(event.workflowExecutionStartedEventAttributes.input))
  } else if (isLocalActivity(event)) {
    tellAnswer(story, localResult<LocalAnswer>(event))
  } else if (event.activityTaskCompletedEventAttributes) {
    const answer = first<RetryOutcome>(event.activityTaskCompletedEventAttributes.result)
    tellAnswer(story, answer?.outcome)
    story.attempts.push(...(answer?.attempts ?? []))
  } else if (event.activityTaskFailedEventAttributes) {
    story.attempts.push(...attemptsOfFailure(event.activityTaskFailedEventAttributes.failure))
  } else if (event.activityTaskTimedOutEventAttributes) {
    story.attempts.push(...attemptsOfFailure(event.activityTaskTimedOutEventAttributes.failure))
  } else if (event.workflowExecutionSignaledEventAttributes?.signalName === signals.retryNow) {
    const trace = first<SteeringTrace>(event.workflowExecutionSignaledEventAttributes.input)
    story.steering.push({ at, action: 'retry', by: trace?.by ?? null, why: trace?.why ?? null })
  } else if (event.workflowExecutionCancelRequestedEventAttributes) {
    const { identity, cause } = event.workflowExecutionCancelRequestedEventAttributes
    story.isCancelled = true
    story.steering.push({ at, action: 'cancel', by: identity ?? null, why: cause === '' ? null : (cause ?? null) })
  } else if (event.workflowExecutionCompletedEventAttributes) {
    tellResult(story, first<DeliverEventResult>(event.workflowExecutionCompletedEventAttributes.result))
  } else if (event.workflowExecutionFailedEventAttributes) {
    const { failure } = event.workflowExecutionFailedEventAttributes
    tellResult(story, first<DeliverEventResult>(failure?.applicationFailureInfo?.details))
    story.reason = failure?.message ?? null
  } else {
    noteTimers(story.timers, event, at)
  }
}

/** Of several runs, the last one is told first. */
function tellBeginning(story: DeliveryStory, given: HeldEventInput | undefined): void {
  if (given === undefined) return
  const { resumed = [], earlier = [], ...input } = given
  story.attempts.push(...earlier)
  if (story.input === undefined) story.given = resumed
  story.input = input
}

function tellResult(story: DeliveryStory, result: DeliverEventResult | undefined): void {
  story.results = result?.destinations ?? story.results
}

/** Of a local activity: what came of an attempt, or the attempts that it read of others. */
type LocalAnswer = AttemptOutcome | { attempts: Attempt[] }

function tellAnswer(story: DeliveryStory, answer: LocalAnswer | undefined): void {
  if (answer === undefined) return
  if ('attempts' in answer) story.attempts.push(...answer.attempts)
  else if ('attempt' in answer && answer.attempt !== undefined) {
    story.attempts.push(answer.attempt)
    if (answer.kind === 'rejected') story.refusals.set(answer.attempt.endpointId, answer.reason)
  }
}

/** In the details of a failure, or of what it came after; when time ran out in the middle of an attempt, in its heartbeat. */
export function attemptsOfFailure(failure: Failure | null | undefined): Attempt[] {
  if (!failure) return []
  const { applicationFailureInfo, timeoutFailureInfo, cause } = failure
  const records = [applicationFailureInfo?.details, timeoutFailureInfo?.lastHeartbeatDetails]
  return [
    ...records.flatMap((details) => first<AttemptRecord>(details)?.attempts ?? []),
    ...attemptsOfFailure(cause ?? undefined),
  ]
}
