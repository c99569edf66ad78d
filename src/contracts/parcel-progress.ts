/** What follows the outcome of an attempt, for the events of a parcel. Pure: the workflow and its activities use it alike. */

import type { Attempt, AttemptOutcome, DeliveryTarget, DestinationResult } from './delivery.ts'
import type { DestinationProgress, EndpointProgress, EventProgress, ParcelEvent, ParcelEventStatus } from './parcels.ts'

/** Newest attempts that are kept of an event at an endpoint; the others are only counted. */
const maxKept = 10

export const beginEvent = ({ targets }: Pick<ParcelEvent, 'targets'>, place: number): EventProgress => ({
  place,
  destinations: targets.map(beginDestination),
})

const beginDestination = ({ destinationId, successPolicy, endpointIds }: DeliveryTarget): DestinationProgress => ({
  destinationId,
  successPolicy,
  endpoints: endpointIds.map((endpointId) => ({ endpointId, attempts: 0, made: [], waits: 'turn' })),
})

/** Characters of an answer's excerpt that are kept of the newest attempt: what is told of a hundred events at five endpoints each
 *  stays below the 2 MB that Temporal takes. */
const maxExcerpt = 200

const withoutExcerpt = ({ excerpt: _, ...attempt }: Attempt): Attempt => attempt

const brief = (attempt: Attempt): Attempt =>
  attempt.excerpt === undefined ? attempt : { ...attempt, excerpt: attempt.excerpt.slice(0, maxExcerpt) }

/** The endpoint after an attempt, or after none was made. */
export function afterAttempt(before: EndpointProgress, outcome: AttemptOutcome): EndpointProgress {
  const { endpointId } = before
  const attempt = 'attempt' in outcome ? outcome.attempt : undefined
  const made =
    attempt === undefined ? before.made : [...before.made.map(withoutExcerpt), brief(attempt)].slice(-maxKept)
  const counted = { endpointId, attempts: before.attempts + (attempt === undefined ? 0 : 1), made }
  switch (outcome.kind) {
    case 'delivered':
      return { ...counted, end: 'delivered' }
    case 'rejected':
      return { ...counted, end: 'failed', reason: outcome.reason }
    case 'discarded':
      return { ...counted, end: 'discarded', reason: outcome.reason }
    case 'unavailable':
      return {
        ...counted,
        waits: 'retry',
        ...(outcome.attempt.error !== undefined && { reason: outcome.attempt.error }),
      }
    case 'deferred': {
      const reason = outcome.reason ?? before.reason
      return { ...counted, waits: before.attempts === 0 ? 'turn' : 'retry', ...(reason !== undefined && { reason }) }
    }
    case 'held':
      return { ...counted, waits: 'hold', ...(before.reason !== undefined && { reason: before.reason }) }
  }
}

/** Ends what need not go on: where any endpoint is enough and one took the event, the others that had their attempt. */
export function settleDestination(destination: DestinationProgress): DestinationProgress {
  const { successPolicy, endpoints } = destination
  if (successPolicy !== 'any' || !endpoints.some(({ end }) => end === 'delivered')) return destination
  return {
    ...destination,
    endpoints: endpoints.map((endpoint) =>
      endpoint.end === undefined && endpoint.waits !== 'turn' ? { ...endpoint, end: 'superseded' } : endpoint,
    ),
  }
}

/** Ends every open endpoint of a destination. */
export const endOpen = (
  destination: DestinationProgress,
  end: 'failed' | 'discarded',
  reason: (endpoint: EndpointProgress) => string,
): DestinationProgress => ({
  ...destination,
  endpoints: destination.endpoints.map((endpoint) =>
    endpoint.end === undefined ? { ...endpoint, end, reason: reason(endpoint) } : endpoint,
  ),
})

export const openEndpoints = ({ endpoints }: DestinationProgress): EndpointProgress[] =>
  endpoints.filter(({ end }) => end === undefined)

export const destinationOf = (event: EventProgress, destinationId: string): DestinationProgress | undefined =>
  event.destinations.find((destination) => destination.destinationId === destinationId)

export const isOpenAt = (event: EventProgress, destinationId: string): boolean => {
  const destination = event.end === undefined ? destinationOf(event, destinationId) : undefined
  return destination !== undefined && openEndpoints(destination).length > 0
}

/** The open endpoints of a destination, of all of these events. */
export const openEndpointsAt = (events: readonly EventProgress[], destinationId: string): EndpointProgress[] =>
  events.flatMap((event) => {
    const destination = destinationOf(event, destinationId)
    return destination === undefined ? [] : openEndpoints(destination)
  })

/** The event with one of its destinations changed. */
export const withDestination = (event: EventProgress, changed: DestinationProgress): EventProgress => ({
  ...event,
  destinations: event.destinations.map((destination) =>
    destination.destinationId === changed.destinationId ? changed : destination,
  ),
})

/** What became of a destination; undefined while it is open. */
export function destinationOutcome({
  successPolicy,
  endpoints,
}: DestinationProgress): DestinationResult['outcome'] | undefined {
  const has = (end: EndpointProgress['end']): boolean => endpoints.some((endpoint) => endpoint.end === end)
  if (has(undefined)) return undefined
  if (successPolicy === 'any' && has('delivered')) return 'delivered'
  if (has('failed')) return 'failed'
  return has('discarded') ? 'discarded' : 'delivered'
}

/** Nothing more is done for the event in its parcel. */
export const isOver = ({ end, destinations }: EventProgress): boolean =>
  end !== undefined || destinations.every((destination) => destinationOutcome(destination) !== undefined)

/** Where the event stands as a whole: open destinations count before those that have ended. */
export function eventStatus({ end, destinations }: EventProgress): ParcelEventStatus {
  if (end === 'cancelled') return 'cancelled'
  const outcomes = destinations.map(destinationOutcome)
  if (outcomes.includes(undefined)) {
    const open = destinations.flatMap(openEndpoints)
    if (open.some(({ waits }) => waits === 'hold')) return 'held'
    return open.some(({ waits }) => waits === 'retry') ? 'retrying' : 'delivering'
  }
  if (outcomes.includes('failed')) return 'failed'
  return outcomes.includes('delivered') ? 'delivered' : 'discarded'
}

export const attemptsOf = ({ destinations }: EventProgress): number =>
  destinations.flatMap(({ endpoints }) => endpoints).reduce((sum, { attempts }) => sum + attempts, 0)

/** Why it waits or ended so; undefined when it was delivered. */
export function reasonOf(event: EventProgress): string | undefined {
  const status = eventStatus(event)
  if (status === 'delivered') return undefined
  const endpoints = event.destinations.flatMap((destination) => destination.endpoints)
  const same = endpoints.find(({ end, reason }) => end === status && reason !== undefined)
  return (same ?? endpoints.find(({ end, reason }) => end === undefined && reason !== undefined))?.reason
}
