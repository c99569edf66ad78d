/** One event at one destination: the first round at all endpoints, then the retries of those that may yet succeed. */

import { CancellationScope, isCancellation } from '@temporalio/workflow'
import type {
  AttemptOutcome,
  DeliverEventInput,
  DeliveryTarget,
  DestinationResult,
  DestinationState,
  EndpointResult,
} from '../src/contracts/delivery.ts'
import { local } from './activities.ts'
import { pursueEndpoint, type Pursuit } from './endpoint-pursuit.ts'
import { untilResumed } from './hold.ts'
import type { OutcomeReport } from './outcome-attribute.ts'
import { createRetryClock } from './retry-clock.ts'
import type { Steering } from './steering.ts'

type Firsts = Map<string, AttemptOutcome>

export async function deliverToDestination(
  input: DeliverEventInput,
  target: DeliveryTarget,
  steering: Steering,
  outcomes: OutcomeReport,
): Promise<DestinationResult> {
  const { destinationId } = target
  const clock = createRetryClock(input.retry.windowMs)
  const scope = CancellationScope.current()
  let resumption: Promise<DestinationState> | undefined

  const hold = async (): Promise<DestinationState> => {
    outcomes.report(destinationId, 'held')
    // In the scope of the destination: an endpoint that is settled meanwhile must not end the wait of the others.
    resumption ??= scope.run(() => untilResumed(destinationId, steering)).finally(() => (resumption = undefined))
    const state = await resumption
    if (state.kind !== 'discarded') outcomes.report(destinationId, 'retrying')
    return state
  }

  const firsts = await firstRound(input, target)
  const succeeded = [...firsts.values()].some(({ kind }) => kind === 'delivered')
  const enough = (isDelivered: boolean): boolean => isDelivered && target.successPolicy === 'any'
  const waiting = [...firsts].filter(([, { kind }]) => (enough(succeeded) ? kind === 'deferred' : isOpen(kind)))
  if (enough(succeeded) && waiting.length > 0) outcomes.report(destinationId, 'delivered')

  // An endpoint that only waits for its turn writes nothing: that would cost Temporal as much as an attempt.
  const noteFailure = (): void => outcomes.report(destinationId, 'retrying')
  const context = { input, destinationId, clock, steering, noteFailure, untilResumed: hold }
  const pursuits = new Map(
    waiting.map(([endpointId, first]) => [endpointId, pursueEndpoint(context, endpointId, first)]),
  )
  if (enough(succeeded)) supersedeAll(pursuits)
  const pursued = await Promise.all(
    [...pursuits.values()].map(async ({ result }) => {
      const settled = await result
      if (enough(settled.outcome === 'delivered')) {
        supersedeAll(pursuits)
        if (pursuits.size > 1) outcomes.report(destinationId, 'delivered')
      }
      return settled
    }),
  )
  const settled = new Map(pursued.map((result) => [result.endpointId, result]))
  const endpoints = [...firsts].map(([endpointId, first]) => settled.get(endpointId) ?? firstResult(endpointId, first))
  return { destinationId, outcome: outcomeOf(target, endpoints), endpoints }
}

/** One attempt at every endpoint, side by side; none is aborted when another one succeeds. */
async function firstRound(input: DeliverEventInput, target: DeliveryTarget): Promise<Firsts> {
  const { sourceId, messageId, message } = input
  const { destinationId } = target
  return new Map(
    await Promise.all(
      target.endpointIds.map(async (endpointId): Promise<[string, AttemptOutcome]> => {
        try {
          return [endpointId, await local.attemptDelivery({ sourceId, messageId, message, destinationId, endpointId })]
        } catch (error) {
          if (isCancellation(error)) throw error
          // A fault on our side: the attempt is made again by an activity that Temporal retries.
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

/** What the first attempt alone says of an endpoint that was not pursued further. */
function firstResult(endpointId: string, first: AttemptOutcome): EndpointResult {
  switch (first.kind) {
    case 'delivered':
      return { endpointId, outcome: 'delivered', attempts: 1 }
    case 'rejected':
      return {
        endpointId,
        outcome: 'failed',
        attempts: first.attempt === undefined ? 0 : 1,
        reason: first.reason,
        ...(first.attempt && { lastAttempt: first.attempt }),
      }
    case 'discarded':
      return { endpointId, outcome: 'discarded', attempts: 0, reason: first.reason }
    case 'unavailable':
      return {
        endpointId,
        outcome: 'superseded',
        attempts: 1,
        ...(first.attempt.error && { reason: first.attempt.error }),
      }
    case 'deferred':
    case 'held':
      return { endpointId, outcome: 'superseded', attempts: 0 }
  }
}

function outcomeOf({ successPolicy }: DeliveryTarget, endpoints: EndpointResult[]): DestinationResult['outcome'] {
  const has = (outcome: EndpointResult['outcome']): boolean =>
    endpoints.some((endpoint) => endpoint.outcome === outcome)
  if (successPolicy === 'any' && has('delivered')) return 'delivered'
  if (has('failed')) return 'failed'
  return has('discarded') ? 'discarded' : 'delivered'
}
