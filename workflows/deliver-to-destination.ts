/** One event at one destination: the first round at all endpoints, then the retries of those that may yet succeed. */

import { isCancellation } from '@temporalio/workflow'
import type {
  AttemptOutcome,
  HeldEventInput,
  DeliveryTarget,
  DestinationResult,
  DestinationStanding,
  EndpointResult,
} from '../src/contracts/delivery.ts'
import type { Wait } from '../src/contracts/next-step.ts'
import { leaveLine, local } from './activities.ts'
import {
  createProgress,
  destinationResult,
  heldEndpoints,
  settleFirsts,
  settledOf,
  settlePursuits,
  type Firsts,
  type Progress,
} from './destination-progress.ts'
import type { Runs } from './endpoint-attempts.ts'
import { pursueEndpoint } from './endpoint-pursuit.ts'
import { createHold, tellsHoldOnceRead, waitTogether } from './hold.ts'
import type { InTurn } from './one-at-a-time.ts'
import type { OutcomeReport } from './outcome-attribute.ts'
import type { NoteResult } from './results-attribute.ts'
import { createRetryClock } from './retry-clock.ts'
import type { Steering } from './steering.ts'

/** What the delivery of an event shares with each of its destinations. */
export interface DeliveryContext {
  input: HeldEventInput
  steering: Steering
  inTurn: InTurn
  outcomes: OutcomeReport
  noteResult: NoteResult
  /** To be awaited after the first attempts: resolves when those at all destinations are over. */
  firstsOver: () => Promise<void>
  /** To be called when the destination is held, and only waits from now on. */
  onResting(): void
  /** Activities that wait or run. */
  runs: Runs
  /** An endpoint was given up while others of its destination go on. */
  onGivenUp: (target: DeliveryTarget, endpoint: EndpointResult) => void
  /** A destination has ended. */
  onEnded(result: DestinationResult): void
}

export interface DestinationDelivery {
  result: Promise<DestinationResult>
  /** Where the destination stands; undefined while something is under way. */
  standing(): DestinationStanding | undefined
}

/** Delivers an event to one destination.
 *  @param resumed  where the destination stood in an earlier run of the workflow */
export function deliverToDestination(
  context: DeliveryContext,
  target: DeliveryTarget,
  resumed?: DestinationStanding,
): DestinationDelivery {
  if (resumed?.kind === 'settled') return { result: Promise.resolve(resumed.result), standing: () => resumed }
  const { input, outcomes, steering, inTurn, runs } = context
  const { destinationId } = target
  const clock = createRetryClock(resumed?.clock)
  const hold = createHold(destinationId, steering, inTurn, () => context.onResting())
  const before = new Map(resumed?.waiting.map((endpoint) => [endpoint.endpointId, endpoint]))
  const progress = createProgress(resumed?.settled)
  let ended: DestinationResult | undefined

  const noteWait = (wait: Wait): void => {
    // An endpoint that still gets its first attempt does not change what the destination has come to.
    if (progress.isDelivered) return
    outcomes.report(destinationId, 'retrying')
    outcomes.explain(wait)
  }
  const untilResumed = waitTogether(hold, destinationId, outcomes)
  const shared = { input, target, clock, steering, inTurn, noteWait, untilResumed, runs }

  const deliver = async (): Promise<DestinationResult> => {
    const firsts = resumed === undefined ? await firstRound(context, target) : heldFirsts(resumed)
    const waiting = settleFirsts(progress, input, target, firsts)
    if (progress.isDelivered && waiting.length > 0) outcomes.report(destinationId, 'delivered')
    else if (waiting.length > 0) context.noteResult(destinationId, isHeldForSure(resumed) ? 'held' : 'delivering')
    for (const [endpointId, first] of waiting)
      progress.pursuits.set(endpointId, pursueEndpoint(shared, endpointId, first, before.get(endpointId)))
    ended = await endOf(progress, target, context)
    context.onEnded(ended)
    return ended
  }

  const standing = (): DestinationStanding | undefined => {
    if (ended !== undefined) return { kind: 'settled', result: ended }
    if (!hold.isResting()) return undefined
    const waiting = heldEndpoints(progress)
    return waiting && { kind: 'held', destinationId, clock: clock.read(), settled: settledOf(progress), waiting }
  }

  return { result: deliver(), standing }
}

/** Waits until all endpoints are settled; whoever is behind the event in the line of its user goes then. */
async function endOf(
  progress: Progress,
  target: DeliveryTarget,
  { outcomes, inTurn, onGivenUp }: DeliveryContext,
): Promise<DestinationResult> {
  await settlePursuits(progress, target, outcomes, (endpoint) => onGivenUp(target, endpoint))
  if (target.ticket !== undefined) await leaveLine(inTurn, target.ticket)
  return destinationResult(target, progress)
}

/** One attempt at every endpoint, side by side; none is aborted when another one succeeds. */
async function firstRound({ input, firstsOver }: DeliveryContext, target: DeliveryTarget): Promise<Firsts> {
  const { sourceId, messageId, message, acceptedAt, traceparent } = input
  const { destinationId, mappingId } = target
  const event = {
    sourceId,
    messageId,
    message,
    destinationId,
    ...(mappingId !== undefined && { mappingId }),
    ...(acceptedAt !== undefined && { acceptedAt }),
    ...(traceparent !== undefined && { traceparent }),
  }
  const firsts = await Promise.all(
    target.endpointIds.map(async (endpointId): Promise<[string, AttemptOutcome]> => {
      try {
        return [endpointId, await local.attemptDelivery({ ...event, endpointId })]
      } catch (error) {
        if (isCancellation(error)) throw error
        // The fault is on this side: an activity that Temporal retries makes the attempt again.
        return [endpointId, { kind: 'deferred' }]
      }
    }),
  )
  // Commands go to Temporal with the end of the workflow task, which waits for all of these attempts: nothing comes later by it.
  await firstsOver()
  return new Map(firsts)
}

/** Whether the destination counts as held before it was read in this run. */
const isHeldForSure = (resumed: DestinationStanding | undefined): boolean =>
  resumed !== undefined && !tellsHoldOnceRead()

/** Outcomes of endpoints that waited in an earlier run: as if each had just been found to be held. */
const heldFirsts = ({ waiting }: Extract<DestinationStanding, { kind: 'held' }>): Firsts =>
  new Map(waiting.map(({ endpointId }) => [endpointId, { kind: 'held' }]))
