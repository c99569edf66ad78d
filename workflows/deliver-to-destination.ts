/** One event at one destination: the first round at all endpoints, then the retries of those that may yet succeed. */

import { CancellationScope, isCancellation } from '@temporalio/workflow'
import type {
  AttemptOutcome,
  DeliverEventInput,
  DeliveryTarget,
  DestinationResult,
  DestinationStanding,
  DestinationState,
  EndpointResult,
} from '../src/contracts/delivery.ts'
import { endpointResult, nextStep, type Wait } from '../src/contracts/next-step.ts'
import { local } from './activities.ts'
import type { Runs } from './endpoint-attempts.ts'
import { pursueEndpoint, type Pursuit } from './endpoint-pursuit.ts'
import { createHold } from './hold.ts'
import type { OutcomeReport } from './outcome-attribute.ts'
import { createRetryClock } from './retry-clock.ts'
import type { Steering } from './steering.ts'

type Firsts = Map<string, AttemptOutcome>
type HeldStanding = Extract<DestinationStanding, { kind: 'held' }>

/** What the delivery of an event shares with each of its destinations. */
export interface DeliveryContext {
  input: DeliverEventInput
  steering: Steering
  outcomes: OutcomeReport
  /** To be called when the destination is held, and only waits from now on. */
  onResting(): void
  /** Activities that wait or run. */
  runs: Runs
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
  const { input, steering, outcomes } = context
  const { destinationId } = target
  const clock = createRetryClock(input.retry.windowMs, resumed?.clock)
  const scope = CancellationScope.current()
  const hold = createHold(destinationId, steering, () => context.onResting())
  const pursuits = new Map<string, Pursuit>()
  const settled = new Map(resumed?.settled.map((endpoint) => [endpoint.endpointId, endpoint]))
  let resumption: Promise<DestinationState> | undefined
  let ended: DestinationResult | undefined

  const untilResumed = async (since: number | undefined): Promise<DestinationState> => {
    outcomes.report(destinationId, 'held')
    // The wait runs in the scope of the destination: an endpoint that is settled meanwhile must not end the wait of the others.
    resumption ??= scope.run(() => hold.untilResumed(since)).finally(() => (resumption = undefined))
    const state = await resumption
    if (state.kind !== 'discarded') outcomes.report(destinationId, 'retrying')
    return state
  }

  const enough = (isDelivered: boolean): boolean => isDelivered && target.successPolicy === 'any'

  const deliver = async (): Promise<DestinationResult> => {
    const firsts = resumed === undefined ? await firstRound(input, target) : heldFirsts(resumed)
    const succeeded = [...firsts.values()].some(({ kind }) => kind === 'delivered')
    const isWaiting = ({ kind }: AttemptOutcome): boolean => (enough(succeeded) ? kind === 'deferred' : isOpen(kind))
    const waiting = [...firsts].filter(([, first]) => isWaiting(first))
    for (const [endpointId, first] of firsts)
      if (!isWaiting(first)) settled.set(endpointId, firstResult(input, endpointId, first))
    if (enough(succeeded) && waiting.length > 0) outcomes.report(destinationId, 'delivered')

    let isDelivered = enough(succeeded)
    const noteWait = (wait: Wait): void => {
      // An endpoint that still gets its first attempt does not change what the destination has come to.
      if (isDelivered) return
      outcomes.report(destinationId, 'retrying')
      outcomes.explain(wait)
    }
    const shared = { input, destinationId, clock, steering, noteWait, untilResumed, runs: context.runs }
    for (const [endpointId, first] of waiting) {
      const before = resumed?.waiting.find((endpoint) => endpoint.endpointId === endpointId)
      pursuits.set(endpointId, pursueEndpoint(shared, endpointId, first, before))
    }
    if (enough(succeeded)) supersedeAll(pursuits)
    await Promise.all(
      [...pursuits.values()].map(async ({ result }) => {
        const endpoint = await result
        settled.set(endpoint.endpointId, endpoint)
        if (enough(endpoint.outcome === 'delivered')) {
          isDelivered = true
          supersedeAll(pursuits)
          if (pursuits.size > 1) outcomes.report(destinationId, 'delivered')
        }
      }),
    )
    const endpoints = target.endpointIds.flatMap((endpointId) => settled.get(endpointId) ?? [])
    ended = { destinationId, outcome: outcomeOf(target, endpoints), endpoints }
    context.onEnded(ended)
    return ended
  }

  const standing = (): DestinationStanding | undefined => {
    if (ended !== undefined) return { kind: 'settled', result: ended }
    if (!hold.isResting()) return undefined
    const open = [...pursuits].filter(([endpointId]) => !settled.has(endpointId))
    const waiting = open.flatMap(([, pursuit]) => pursuit.held() ?? [])
    if (waiting.length < open.length) return undefined
    return { kind: 'held', destinationId, clock: clock.read(), settled: [...settled.values()], waiting }
  }

  return { result: deliver(), standing }
}

/** Outcomes of endpoints that waited in an earlier run: as if each had just been found to be held. */
const heldFirsts = ({ waiting }: HeldStanding): Firsts =>
  new Map(waiting.map(({ endpointId }) => [endpointId, { kind: 'held' }]))

/** One attempt at every endpoint, side by side; none is aborted when another one succeeds. */
async function firstRound(input: DeliverEventInput, target: DeliveryTarget): Promise<Firsts> {
  const { sourceId, messageId, message, acceptedAt } = input
  const { destinationId } = target
  const event = { sourceId, messageId, message, ...(acceptedAt !== undefined && { acceptedAt }) }
  return new Map(
    await Promise.all(
      target.endpointIds.map(async (endpointId): Promise<[string, AttemptOutcome]> => {
        try {
          return [endpointId, await local.attemptDelivery({ ...event, destinationId, endpointId })]
        } catch (error) {
          if (isCancellation(error)) throw error
          // The fault is on this side: an activity that Temporal retries makes the attempt again.
          return [endpointId, { kind: 'deferred' }]
        }
      }),
    ),
  )
}

const isOpen = (kind: AttemptOutcome['kind']): boolean =>
  kind === 'unavailable' || kind === 'deferred' || kind === 'held'

const supersedeAll = (pursuits: Map<string, Pursuit>): void => {
  for (const pursuit of pursuits.values()) pursuit.supersede()
}

/** What the first attempt alone says of an endpoint that is not pursued further. */
function firstResult({ retry }: DeliverEventInput, endpointId: string, first: AttemptOutcome): EndpointResult {
  const lastAttempt = 'attempt' in first ? first.attempt : undefined
  const attempts = lastAttempt === undefined ? 0 : 1
  const now = Date.now()
  const state = { attempts, retry, windowEndsAt: now, isSuperseded: true }
  const step = nextStep(state, first, { now, random: Math.random })
  return endpointResult({ endpointId, attempts, lastAttempt }, step.kind === 'settle' ? step : { end: 'superseded' })
}

function outcomeOf({ successPolicy }: DeliveryTarget, endpoints: EndpointResult[]): DestinationResult['outcome'] {
  const has = (outcome: EndpointResult['outcome']): boolean =>
    endpoints.some((endpoint) => endpoint.outcome === outcome)
  if (successPolicy === 'any' && has('delivered')) return 'delivered'
  if (has('failed')) return 'failed'
  return has('discarded') ? 'discarded' : 'delivered'
}
