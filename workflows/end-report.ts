/** Tells of destinations, and of endpoints, that ended without success while others go on. */

import { patched, upsertMemo } from '@temporalio/workflow'
import {
  endedInMemo,
  givenUpInMemo,
  type DeliveryTarget,
  type DestinationResult,
  type EndpointResult,
  type HeldEventInput,
} from '../src/contracts/delivery.ts'

/** @returns to be called once for each destination that ends */
export function createEndReport({ targets, resumed = [] }: HeldEventInput): (ended: DestinationResult) => void {
  const settled = resumed.flatMap((standing) => (standing.kind === 'settled' ? standing.result : []))
  const givenUp = settled.filter(isGivenUp).map(withoutAttempts)
  let open = targets.length - settled.length
  return (ended) => {
    open--
    if (!isGivenUp(ended)) return
    givenUp.push(withoutAttempts(ended))
    // The last one ends the delivery, whose result has them all.
    if (open > 0 && patched('ends-in-memo')) upsertMemo({ [endedInMemo]: givenUp })
  }
}

/** @returns to be called once for each endpoint that was given up while others of its destination go on. It tells of those that may end
 *  long before the others, since windows differ there. */
export function createGivenUpReport(): (target: DeliveryTarget, endpoint: EndpointResult) => void {
  const givenUp: EndpointResult[] = []
  return ({ retryAtEndpoints }, endpoint) => {
    if (retryAtEndpoints === undefined) return
    givenUp.push(withoutAttempt(endpoint))
    upsertMemo({ [givenUpInMemo]: givenUp })
  }
}

const isGivenUp = ({ outcome }: DestinationResult): boolean => outcome !== 'delivered'

/** The history has the attempts. */
const withoutAttempts = ({ endpoints, ...result }: DestinationResult): DestinationResult => ({
  ...result,
  endpoints: endpoints.map(withoutAttempt),
})

const withoutAttempt = ({ lastAttempt: _, ...endpoint }: EndpointResult): EndpointResult => endpoint
