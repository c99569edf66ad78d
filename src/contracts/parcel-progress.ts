/** How far the events of a parcel are. Pure: the workflow and its activities use it alike. */

import { withAllUrls, withoutEvidence, withoutSameUrls } from './attempts.ts'
import type { Attempt, AttemptOutcome, DeliveryTarget, DestinationResult } from './delivery.ts'
import { nextStep, type EndpointState, type Moment } from './next-step.ts'
import type { DestinationProgress, EndpointProgress, EventProgress, ParcelEvent, ParcelEventStatus } from './parcels.ts'

/** Newest attempts of an event at an endpoint that Temporal keeps: it takes 2 MB of a heartbeat, an input or a result, and an account
 *  of a parcel tells of a hundred events at five endpoints each, with about 200 bytes for an attempt. The others are only counted
 *  here: the table of the parcels' events has them. */
const maxKept = 10

/** An event of a parcel before its first attempts.
 *  @param place  its place in the parcel, from 0 */
export const beginEvent = ({ targets }: Pick<ParcelEvent, 'targets'>, place: number): EventProgress => ({
  place,
  destinations: targets.map(beginDestination),
})

const beginDestination = ({
  destinationId,
  successPolicy,
  endpointIds,
  ticket,
}: DeliveryTarget): DestinationProgress => ({
  destinationId,
  successPolicy,
  endpoints: endpointIds.map((endpointId) => ({ endpointId, attempts: 0, made: [], waits: 'turn' })),
  ...(ticket !== undefined && { ticket }),
})

/** The newest attempts, the newest one alone with its evidence: the table has that of the others. */
const keep = (made: readonly Attempt[]): Attempt[] =>
  withoutSameUrls([...made.slice(-maxKept, -1).map(withoutEvidence), ...made.slice(-1)])

/** The event with as many attempts at each endpoint as Temporal keeps. */
export const withNewestAttempts = (event: EventProgress): EventProgress => ({
  ...event,
  destinations: event.destinations.map((destination) => ({
    ...destination,
    endpoints: destination.endpoints.map((endpoint) => ({ ...endpoint, made: keep(withAllUrls(endpoint.made)) })),
  })),
})

/** Most bytes of evidence that a parcel has in Temporal: what is told of a hundred events at five endpoints each stays below the 2 MB that
 *  it takes. */
const maxEvidenceBytes = 256 * 1024

/** Most bytes of evidence that each attempt of these events may have. */
export const evidenceBytesOf = (events: readonly EventProgress[]): number =>
  Math.floor(maxEvidenceBytes / Math.max(1, endpointsOf(events)))

const endpointsOf = (events: readonly EventProgress[]): number =>
  events.flatMap(({ destinations }) => destinations).reduce((sum, { endpoints }) => sum + endpoints.length, 0)

/** The retry window of an endpoint, and its pauses. */
export type Pace = Pick<EndpointState, 'retry' | 'windowEndsAt'>

/** The pace at an endpoint, by its id. */
export type PaceAt = (endpointId: string) => Pace

/** An endpoint that was not told when its turn is comes again after this pause, in milliseconds. */
const untoldTurnMs = 1_000

/** The endpoint after an attempt, or after none was made. */
export function afterAttempt(
  before: EndpointProgress,
  outcome: AttemptOutcome,
  pace: Pace,
  moment: Moment,
): EndpointProgress {
  const { endpointId, reason } = before
  const foundAt = moment.now
  const attempt = 'attempt' in outcome ? outcome.attempt : undefined
  const made = attempt === undefined ? before.made : keep([...withAllUrls(before.made), attempt])
  const counted = { endpointId, attempts: before.attempts + (attempt === undefined ? 0 : 1), made }
  const step = nextStep({ ...pace, attempts: counted.attempts, reason }, outcome, moment)
  switch (step.kind) {
    case 'settle':
      return { ...counted, end: step.end, ...(step.reason !== undefined && { reason: step.reason }) }
    case 'hold':
      return { ...counted, waits: 'hold', foundAt, ...(reason !== undefined && { reason }) }
    case 'wait': {
      const { until, isDown } = step
      return { ...counted, waits: step.for, foundAt, dueAt: until, reason: step.reason, ...(isDown && { isDown }) }
    }
    case 'attempt':
      return {
        ...counted,
        waits: counted.attempts === 0 ? 'turn' : 'retry',
        foundAt,
        dueAt: foundAt + untoldTurnMs,
        ...(reason !== undefined && { reason }),
      }
  }
}

/** Endpoints that are due within such a time of the first one are attempted in one round, in milliseconds. */
const togetherMs = 500

/** The next round for endpoints whose windows end together. */
export interface NextRound {
  /** In milliseconds since 1970. */
  at: number
  /** Those that wait for it, or for one that comes later. */
  endpoints: EndpointProgress[]
}

/** The next rounds: mostly one, as all endpoints have the same window. */
export function nextRounds(waiting: readonly EndpointProgress[], paceAt: PaceAt, moment: Moment): NextRound[] {
  const together = new Map<number, EndpointProgress[]>()
  for (const endpoint of waiting) {
    const { windowEndsAt } = paceAt(endpoint.endpointId)
    const others = together.get(windowEndsAt)
    if (others === undefined) together.set(windowEndsAt, [endpoint])
    else others.push(endpoint)
  }
  return [...together.values()].map((endpoints) => ({ at: nextRoundAt(endpoints, paceAt, moment), endpoints }))
}

/** Whether the window of its endpoints is over before it. */
export const isTooLate = ({ at, endpoints }: NextRound, paceAt: PaceAt): boolean =>
  endpoints.some(({ endpointId }) => at >= paceAt(endpointId).windowEndsAt)

/** When the next round is, in milliseconds since 1970. A round costs Temporal as much for one event as for a hundred: what is due
 *  within twice the shortest wait comes together, when the last of it is due. */
function nextRoundAt(waiting: readonly EndpointProgress[], paceAt: PaceAt, moment: Moment): number {
  const { now } = moment
  const waits = waiting.map((endpoint) => Math.max(0, dueAt(endpoint, paceAt(endpoint.endpointId), moment) - now))
  const shortest = Math.min(...waits)
  return now + Math.max(...waits.filter((ms) => ms - shortest <= Math.max(shortest, togetherMs)))
}

/** An endpoint that nobody was there for, and one of a parcel that began with an early version, was told nothing. */
function dueAt({ dueAt, waits, attempts, reason = '' }: EndpointProgress, pace: Pace, moment: Moment): number {
  if (dueAt !== undefined) return dueAt
  if (waits === 'turn') return moment.now + untoldTurnMs
  const step = nextStep({ ...pace, attempts }, { kind: 'exhausted', reason, wasTurnedAway: true }, moment)
  return step.kind === 'wait' ? step.until : moment.now
}

/** The events with endpoints that may be attempted at once. */
export const dueAtOnce = (event: EventProgress): EventProgress => ({
  ...event,
  destinations: event.destinations.map((destination) => ({
    ...destination,
    endpoints: destination.endpoints.map(({ dueAt: _, ...endpoint }) => endpoint),
  })),
})

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

/** Ends open endpoints of a destination.
 *  @param isMeant  which of them */
export const endOpen = (
  destination: DestinationProgress,
  end: 'failed' | 'discarded',
  reason: (endpoint: EndpointProgress) => string,
  isMeant: (endpoint: EndpointProgress) => boolean = () => true,
): DestinationProgress => ({
  ...destination,
  endpoints: destination.endpoints.map((endpoint) =>
    endpoint.end === undefined && isMeant(endpoint) ? { ...endpoint, end, reason: reason(endpoint) } : endpoint,
  ),
})

/** The endpoints of a destination that have not ended. */
export const openEndpoints = ({ endpoints }: DestinationProgress): EndpointProgress[] =>
  endpoints.filter(({ end }) => end === undefined)

/** A destination of an event; undefined when the event does not go there. */
export const destinationOf = (event: EventProgress, destinationId: string): DestinationProgress | undefined =>
  event.destinations.find((destination) => destination.destinationId === destinationId)

/** Whether the event has an open endpoint at the destination, and is still in its parcel. */
export const isOpenAt = (event: EventProgress, destinationId: string): boolean => {
  const destination = event.end === undefined ? destinationOf(event, destinationId) : undefined
  return destination !== undefined && openEndpoints(destination).length > 0
}

/** Whether an open endpoint of the destination had no attempt yet, as far as is known. */
export const isUntriedAt = (event: EventProgress, destinationId: string): boolean =>
  openEndpointsAt([event], destinationId).some(({ attempts }) => attempts === 0)

/** The event as it is known, with the endpoints of a destination that are further in another account of it. */
export function withFurther(known: EventProgress, other: EventProgress, destinationId: string): EventProgress {
  const [mine, theirs] = [destinationOf(known, destinationId), destinationOf(other, destinationId)]
  if (mine === undefined || theirs === undefined) return known
  const endpoints = mine.endpoints.map((endpoint) => {
    const found = theirs.endpoints.find(({ endpointId }) => endpointId === endpoint.endpointId)
    const isFurther = found !== undefined && (found.attempts > endpoint.attempts || found.end !== undefined)
    return endpoint.end === undefined && isFurther ? found : endpoint
  })
  return withDestination(known, { ...mine, endpoints })
}

/** The event with the open endpoints of a paused destination that had no turn yet: they, too, wait for the end of the pause.
 *  @param now  in milliseconds since 1970 */
export function withTurnsHeld(event: EventProgress, destinationId: string, now: number): EventProgress {
  const destination = destinationOf(event, destinationId)
  if (destination === undefined) return event
  const endpoints = destination.endpoints.map((endpoint) => (isInTurn(endpoint) ? heldFrom(endpoint, now) : endpoint))
  return withDestination(event, { ...destination, endpoints })
}

/** Found to wait now, and no earlier than the database knows of. */
const heldFrom = ({ dueAt: _, isDown: _down, ...endpoint }: EndpointProgress, now: number): EndpointProgress => ({
  ...endpoint,
  waits: 'hold',
  foundAt: Math.max(now, endpoint.foundAt ?? now),
})

/** Whether an open endpoint waits for its first attempt. */
export const isInTurn = ({ end, waits }: EndpointProgress): boolean => end === undefined && waits === 'turn'

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

/** The places in lines of users that the event holds no longer; one that left its parcel keeps them. */
export const ticketsOfEnded = ({ end, destinations }: EventProgress): string[] =>
  end === 'left'
    ? []
    : destinations
        .filter((destination) => end === 'cancelled' || destinationOutcome(destination) !== undefined)
        .flatMap(({ ticket }) => ticket ?? [])

/** Where the event stands as a whole: open destinations count before those that have ended. */
export function eventStatus({ end, destinations }: EventProgress): ParcelEventStatus {
  if (end === 'cancelled') return 'cancelled'
  const outcomes = destinations.map(destinationOutcome)
  if (outcomes.includes(undefined)) return openStatus(destinations.flatMap(openEndpoints))
  if (outcomes.includes('delivered'))
    return outcomes.every((outcome) => outcome === 'delivered') ? 'delivered' : 'partly_delivered'
  return outcomes.includes('failed') ? 'failed' : 'discarded'
}

function openStatus(open: readonly EndpointProgress[]): 'held' | 'retrying' | 'delivering' {
  if (open.some(({ waits }) => waits === 'hold')) return 'held'
  return open.some(({ waits, isDown }) => waits === 'retry' || isDown) ? 'retrying' : 'delivering'
}

/** Where the event stands at each of its destinations, by id; undefined where it stands everywhere as it does as a whole. */
export function differingResults({ end, destinations }: EventProgress): Record<string, ParcelEventStatus> | undefined {
  const results = destinations.map((destination): [string, ParcelEventStatus] => {
    const open = end === 'cancelled' ? 'cancelled' : openStatus(openEndpoints(destination))
    return [destination.destinationId, destinationOutcome(destination) ?? open]
  })
  return new Set(results.map(([, result]) => result)).size > 1 ? Object.fromEntries(results) : undefined
}

/** Requests made for the event in all. */
export const attemptsOf = ({ destinations }: EventProgress): number =>
  destinations.flatMap(({ endpoints }) => endpoints).reduce((sum, { attempts }) => sum + attempts, 0)

/** The attempts that an account of the event tells of, of one endpoint after the other. */
export const attemptsIn = ({ destinations }: EventProgress): Attempt[] =>
  destinations.flatMap(({ endpoints }) => endpoints.flatMap(({ made }) => withAllUrls(made)))

/** Why it waits or ended so; undefined when it was delivered. */
export function reasonOf(event: EventProgress): string | undefined {
  const status = eventStatus(event)
  if (status === 'delivered') return undefined
  const endpoints = event.destinations
    .filter((destination) => destinationOutcome(destination) !== 'delivered')
    .flatMap((destination) => destination.endpoints)
  const ends = status === 'partly_delivered' ? (['failed', 'discarded'] as const) : [status, undefined]
  const reasons = ends.map((wanted) => endpoints.find(({ end, reason }) => end === wanted && reason !== undefined))
  return reasons.find((found) => found !== undefined)?.reason
}
