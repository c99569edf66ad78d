/** One delivery with every attempt, read from its workflow's history and pending activities. */

import { countAtEndpoints, distinctAttempts } from '../contracts/attempts.ts'
import {
  endedInMemo,
  givenUpInMemo,
  type Attempt,
  type DeliverEventInput,
  type HeldEventInput,
  type DeliveryTarget,
  type DestinationResult,
  type EndpointResult,
  type PendingAttempts,
  type SteeringTrace,
} from '../contracts/delivery.ts'
import type { Delivery, DeliveryDetail } from '../schemas/delivery.ts'
import type { Temporal } from './connection.ts'
import { readShown, toDelivery, toIso, type ExecutionInfo } from './delivery-row.ts'
import { describeExecution } from './describe-execution.ts'
import { readStory, type DeliveryStory } from './delivery-story.ts'
import { factsOfResults, type EndpointFacts } from './endpoint-facts.ts'
import { isNotFound } from './grpc-errors.ts'
import { decode } from './opened.ts'
import { readParcelStory } from './parcel-detail.ts'
import {
  attemptsOfPending,
  isUnderWay,
  pendingEndpoints,
  reasonOfPending,
  subjectOf,
  type PendingActivity,
} from './pending-activities.ts'
import { openInput } from './sealed-messages.ts'
import { underEachId } from './under-each-id.ts'

/** What Temporal knows of a delivery. */
export interface StartedDelivery extends Omit<
  DeliveryDetail,
  'message' | 'body' | 'requests' | 'outOfOrder' | 'retryWindowMs' | 'destinations' | 'timeline' | 'temporalUiUrl'
> {
  /** Undefined when its user was erased. */
  input: DeliverEventInput | undefined
  targets: DeliveryTarget[]
  /** Its attempts, oldest first. */
  made: Attempt[]
  /** What is known of its endpoints beyond the attempts. */
  facts: EndpointFacts
  workflowId: string
  runId: string
}

/** @returns undefined when Temporal does not know the delivery */
export async function readDelivery(
  temporalServer: Temporal,
  deliveryId: string,
  isPaused: (destinationId: string) => boolean,
): Promise<StartedDelivery | undefined> {
  try {
    const { workflowExecutionInfo: info, pendingActivities } = await underEachId(
      temporalServer,
      deliveryId,
      (workflowId) => describeExecution(temporalServer, { workflowId }),
    )
    const workflowId = info?.execution?.workflowId ?? ''
    const runId = info?.execution?.runId ?? ''
    const story = await readStory(temporalServer, workflowId, runId)
    const { input } = story
    if (!info || input === undefined) return undefined
    const delivery = toDelivery(info, await readShown(temporalServer, info), isPaused)
    const before = await readBefore(temporalServer, info, delivery.id)
    const attempts = distinctAttempts([
      ...before.attempts,
      ...story.attempts,
      ...pendingActivities.flatMap(attemptsOfPending),
    ])
    const isOpen = delivery.endedAt === null && !story.isCancelled
    const pending = isOpen ? pendingOf(input, story, pendingActivities, isPaused) : []
    const facts = factsOf(info, story)
    const nextTimes = pending.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).sort()
    return {
      ...delivery,
      input: await openInput(temporalServer.messages, input),
      targets: input.targets,
      facts,
      workflowId,
      runId,
      attempts: [...countAtEndpoints(attempts).values()].reduce((sum, count) => sum + count, 0),
      nextAttemptAt: delivery.status === 'held' ? null : (nextTimes[0] ?? null),
      reason: reasonOf(delivery, story, pendingActivities, attemptsThatMatter(input.targets, attempts, facts, isOpen)),
      made: attempts,
      pending,
      steering: [...orderedBy(info), ...before.steering, ...story.steering],
    }
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** What waits or runs for each endpoint of a delivery.
 *  @throws when Temporal does not answer */
export async function readPendingAttempts(
  temporalServer: Temporal,
  execution: { workflowId: string; runId: string },
): Promise<(Required<PendingAttempts> & { endpointId: string })[]> {
  const { pendingActivities } = await describeExecution(temporalServer, execution)
  return pendingActivities.map((activity) => ({
    endpointId: subjectOf(activity),
    attempts: attemptsOfPending(activity),
    isUnderWay: isUnderWay(activity),
  }))
}

/** What became of an event in its parcel, before an operator gave it a workflow of its own. */
async function readBefore(
  temporalServer: Temporal,
  { memo }: ExecutionInfo,
  deliveryId: string,
): Promise<Pick<DeliveryStory, 'attempts' | 'steering'>> {
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

function pendingOf(
  { targets }: HeldEventInput,
  { timers }: DeliveryStory,
  activities: readonly PendingActivity[],
  isPaused: (destinationId: string) => boolean,
): DeliveryDetail['pending'] {
  const endpointIds = targets.flatMap((target) => target.endpointIds)
  const paused = new Set(
    targets.filter(({ destinationId }) => isPaused(destinationId)).flatMap((target) => target.endpointIds),
  )
  return pendingEndpoints(activities, [...timers.values()], endpointIds, (endpointId) => paused.has(endpointId))
}

/** The end of a delivery tells of all destinations, its memo of those that ended before it and of endpoints that were given up, each answer
 *  of one endpoint. */
function factsOf({ memo }: ExecutionInfo, { given, refusals, results }: DeliveryStory): EndpointFacts {
  const [ended, givenUp] = [memo?.fields?.[endedInMemo], memo?.fields?.[givenUpInMemo]]
  const endpoints = [
    ...(givenUp ? (decode(givenUp) as EndpointResult[]) : []),
    ...[...(ended ? (decode(ended) as DestinationResult[]) : []), ...results].flatMap((one) => one.endpoints),
  ]
  const facts = factsOfResults(given, endpoints)
  for (const [endpointId, reason] of refusals)
    if (!facts.has(endpointId)) facts.set(endpointId, { status: 'failed', attempts: 1, reason })
  return facts
}

/** Attempts at what has not taken the event: at the rest, whatever failed matters no more. While it waits, only those at what it waits for.
 *  @param ended  facts of the endpoints that have ended */
function attemptsThatMatter(
  targets: readonly DeliveryTarget[],
  attempts: readonly Attempt[],
  ended: EndpointFacts,
  isOpen: boolean,
): Attempt[] {
  const taken = new Set(attempts.filter(({ error }) => error === undefined).map(({ endpointId }) => endpointId))
  const isTaken = (endpointId: string): boolean => taken.has(endpointId)
  const settled = targets.flatMap(({ endpointIds, successPolicy }) =>
    successPolicy === 'any' && endpointIds.some(isTaken) ? endpointIds : endpointIds.filter(isTaken),
  )
  const isSettled = (endpointId: string): boolean => settled.includes(endpointId) || (isOpen && ended.has(endpointId))
  return attempts.filter(({ endpointId }) => !isSettled(endpointId))
}

/** Why it failed or waits; one that was taken everywhere has none, whatever went before.
 *  @param attempts  those that matter to it */
function reasonOf(
  delivery: Delivery,
  story: DeliveryStory,
  activities: readonly PendingActivity[],
  attempts: readonly Attempt[],
): string | null {
  const { status, reason } = delivery
  if (status === 'delivered') return null
  if (status === 'partly_delivered') return story.reason ?? reason
  const isTriedOn = status === 'delivering' || status === 'retrying'
  const now = isTriedOn ? activities.flatMap((one) => reasonOfPending(one) ?? []).at(-1) : undefined
  return story.reason ?? now ?? reason ?? attempts.findLast(({ error }) => error !== undefined)?.error ?? null
}
