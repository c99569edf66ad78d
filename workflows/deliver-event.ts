/** The story of one event: every destination on its own, until each is settled. */

import { ApplicationFailure, upsertMemo } from '@temporalio/workflow'
import type { DeliverEventInput, DeliverEventResult, DestinationResult } from '../src/contracts/delivery.ts'
import { failureTypes } from '../src/contracts/delivery.ts'
import { deliverToDestination } from './deliver-to-destination.ts'
import { createOutcomeReport, writeOutcome } from './outcome-attribute.ts'
import { listenForSteering } from './steering.ts'

/** Carries one event to its destinations.
 *  @throws ApplicationFailure DeliveryFailed with the reason per endpoint, and the whole result in its details, when a
 *  destination could not be reached for good */
export async function deliverEvent(input: DeliverEventInput): Promise<DeliverEventResult> {
  const steering = listenForSteering()
  const outcomes = createOutcomeReport()
  const destinations = await Promise.all(
    input.targets.map((target) => deliverToDestination(input, target, steering, outcomes)),
  )
  const outcome = overallOutcome(destinations)
  const result = { outcome, destinations }
  noteUnlessPlain(result)
  if (outcome === 'failed')
    throw ApplicationFailure.create({
      type: failureTypes.deliveryFailed,
      message: failureMessage(destinations),
      nonRetryable: true,
      category: 'BENIGN',
      details: [result],
    })
  if (outcome === 'discarded') writeOutcome('discarded')
  return result
}

/** Lists show attempts and reason from the memo; a first round that succeeded needs none. */
function noteUnlessPlain({ outcome, destinations }: DeliverEventResult): void {
  const endpoints = destinations.flatMap((destination) => destination.endpoints)
  if (outcome === 'delivered' && endpoints.every(({ attempts }) => attempts === 1)) return
  const attempts = endpoints.reduce((sum, endpoint) => sum + endpoint.attempts, 0)
  const reason = endpoints.find((endpoint) => endpoint.outcome === outcome)?.reason
  upsertMemo({ attempts, ...(outcome !== 'delivered' && reason !== undefined && { reason }) })
}

function overallOutcome(destinations: DestinationResult[]): DeliverEventResult['outcome'] {
  const has = (outcome: DestinationResult['outcome']): boolean => destinations.some((one) => one.outcome === outcome)
  if (has('failed')) return 'failed'
  return has('delivered') ? 'delivered' : 'discarded'
}

const failureMessage = (destinations: DestinationResult[]): string =>
  destinations
    .filter(({ outcome }) => outcome === 'failed')
    .flatMap(({ endpoints }) => endpoints.filter(({ outcome }) => outcome === 'failed'))
    .map(({ endpointId, reason }) => `${endpointId}: ${reason ?? 'failed'}`)
    .join('\n')
