/** What Temporal tells of the endpoints of a delivery beyond their attempts: those that have ended, and why. */

import type { DestinationStanding, EndpointResult } from '../contracts/delivery.ts'
import type { EndpointProgress, EventProgress } from '../contracts/parcels.ts'
import type { EndpointStatus } from '../schemas/delivery.ts'

export interface EndpointFact {
  status: EndpointStatus
  /** Requests made to it, as far as is known. */
  attempts: number
  reason?: string
}

/** By the endpoint's id. */
export type EndpointFacts = ReadonlyMap<string, EndpointFact>

/** @param given  where destinations stood when the delivery began: in its parcel, or in an earlier run
 *  @param ended  results of endpoints that have ended since */
export function factsOfResults(
  given: readonly DestinationStanding[],
  ended: readonly EndpointResult[],
): Map<string, EndpointFact> {
  const before = given.flatMap((standing) => (standing.kind === 'held' ? standing.settled : standing.result.endpoints))
  return new Map([...before, ...ended].map((endpoint) => [endpoint.endpointId, factOfResult(endpoint)]))
}

const factOfResult = ({ outcome, attempts, reason }: EndpointResult): EndpointFact => ({
  status: outcome,
  attempts,
  ...(reason !== undefined && { reason }),
})

/** @param progress  null: nothing is known beyond the attempts */
export function factsOfProgress(progress: EventProgress | null): EndpointFacts {
  const endpoints = progress?.destinations.flatMap((destination) => destination.endpoints) ?? []
  return new Map(endpoints.map((endpoint) => [endpoint.endpointId, factOfEndpoint(endpoint)]))
}

function factOfEndpoint({ end, waits, isDown, attempts, reason }: EndpointProgress): EndpointFact {
  const open = waits === 'hold' ? 'held' : waits === 'retry' || isDown === true ? 'retrying' : 'delivering'
  return { status: end ?? open, attempts, ...(reason !== undefined && { reason }) }
}
