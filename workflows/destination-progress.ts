/** How far the endpoints of a destination are with one event: what the first round settles, what its retries do, and what becomes of all. */

import type {
  AttemptOutcome,
  HeldEventInput,
  DeliveryTarget,
  DestinationResult,
  EndpointResult,
  HeldEndpoint,
} from '../src/contracts/delivery.ts'
import { endpointResult, nextStep } from '../src/contracts/next-step.ts'
import type { Pursuit } from './endpoint-pursuit.ts'
import type { OutcomeReport } from './outcome-attribute.ts'

/** Outcomes of first attempts, by endpoint. */
export type Firsts = Map<string, AttemptOutcome>

/** The endpoints of a destination, by their ids. */
export interface Progress {
  /** An endpoint took the event, and one is enough. */
  isDelivered: boolean
  /** Those that did not settle in the first round, in its order. */
  pursuits: Map<string, Pursuit>
  settled: Map<string, EndpointResult>
}

/** @param settled  in an earlier run of the workflow */
export const createProgress = (settled: readonly EndpointResult[] = []): Progress => ({
  isDelivered: false,
  pursuits: new Map(),
  settled: new Map(settled.map((endpoint) => [endpoint.endpointId, endpoint])),
})

/** Settles what the first round settles. @returns the endpoints that go on */
export function settleFirsts(
  progress: Progress,
  input: HeldEventInput,
  { successPolicy }: DeliveryTarget,
  firsts: Firsts,
): [endpointId: string, first: AttemptOutcome][] {
  progress.isDelivered = successPolicy === 'any' && [...firsts.values()].some(({ kind }) => kind === 'delivered')
  const waiting = [...firsts].filter(([, first]) => isOpen(first, progress.isDelivered))
  for (const [endpointId, first] of firsts)
    if (!isOpen(first, progress.isDelivered)) progress.settled.set(endpointId, firstResult(input, endpointId, first))
  return waiting
}

/** Whether an endpoint goes on after its first attempt.
 *  @param isDelivered  another one took the event, and one is enough: only attempts that were not made are still owed */
const isOpen = ({ kind }: AttemptOutcome, isDelivered: boolean): boolean =>
  kind === 'deferred' || (!isDelivered && (kind === 'unavailable' || kind === 'held'))

/** What the first attempt alone says of an endpoint that is not pursued further. */
function firstResult({ retry }: HeldEventInput, endpointId: string, first: AttemptOutcome): EndpointResult {
  const lastAttempt = 'attempt' in first ? first.attempt : undefined
  const attempts = lastAttempt === undefined ? 0 : 1
  const now = Date.now()
  const state = { attempts, retry, windowEndsAt: now, isSuperseded: true }
  const step = nextStep(state, first, { now, random: Math.random })
  return endpointResult({ endpointId, attempts, lastAttempt }, step.kind === 'settle' ? step : { end: 'superseded' })
}

/** Waits for the endpoints that go on; once the event is delivered, they get no more than an attempt that is owed to them.
 *  @param onGivenUp  called with each that failed while others go on */
export function settlePursuits(
  progress: Progress,
  { destinationId, successPolicy }: DeliveryTarget,
  outcomes: Pick<OutcomeReport, 'report'>,
  onGivenUp: (endpoint: EndpointResult) => void,
): Promise<unknown> {
  const { pursuits, settled } = progress
  const settle = async ({ result }: Pursuit): Promise<void> => {
    const endpoint = await result
    settled.set(endpoint.endpointId, endpoint)
    if (endpoint.outcome === 'failed' && [...pursuits.keys()].some((id) => !settled.has(id))) onGivenUp(endpoint)
    if (endpoint.outcome !== 'delivered' || successPolicy !== 'any') return
    progress.isDelivered = true
    supersedeAll(pursuits)
    if (pursuits.size > 1) outcomes.report(destinationId, 'delivered')
  }
  if (progress.isDelivered) supersedeAll(pursuits)
  return Promise.all([...pursuits.values()].map(settle))
}

const supersedeAll = (pursuits: Map<string, Pursuit>): void => {
  for (const pursuit of pursuits.values()) pursuit.supersede()
}

export const settledOf = ({ settled }: Progress): EndpointResult[] => [...settled.values()]

/** The endpoints that are open, as they wait for their destination; undefined while something is under way for one. */
export function heldEndpoints({ pursuits, settled }: Progress): HeldEndpoint[] | undefined {
  const open = [...pursuits].filter(([endpointId]) => !settled.has(endpointId))
  const held = open.flatMap(([, pursuit]) => pursuit.held() ?? [])
  return held.length < open.length ? undefined : held
}

/** What a destination has come to, by its endpoints in the order of their settings. */
export function destinationResult(
  { destinationId, endpointIds, successPolicy }: DeliveryTarget,
  { settled }: Progress,
): DestinationResult {
  const endpoints = endpointIds.flatMap((endpointId) => settled.get(endpointId) ?? [])
  const has = (outcome: EndpointResult['outcome']): boolean =>
    endpoints.some((endpoint) => endpoint.outcome === outcome)
  const outcomeOfAll = has('failed') ? 'failed' : has('discarded') ? 'discarded' : 'delivered'
  const outcome = successPolicy === 'any' && has('delivered') ? 'delivered' : outcomeOfAll
  return { destinationId, outcome, endpoints }
}
