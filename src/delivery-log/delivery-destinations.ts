/** What a delivery has come to at each of its destinations and endpoints. */

import type { DeliveryTarget } from '../contracts/delivery.ts'
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryDestination,
  DeliveryDetail,
  DeliveryEndpoint,
  DestinationStatus,
  EndpointStatus,
} from '../schemas/delivery.ts'
import type { QueuedEvent } from '../db/inbox-list.ts'
import { openStatuses } from '../db/parcel-statuses.ts'
import type { EndpointFacts, EndpointFact } from '../temporal/endpoint-facts.ts'
import type { FindDestination } from './sent-requests.ts'

interface Known extends Pick<Delivery, 'status' | 'endedAt'> {
  targets: readonly DeliveryTarget[]
  /** Attempts, oldest first. */
  timeline: readonly DeliveryAttempt[]
  /** How many were made at each endpoint, by its id: some may be left out of the timeline. */
  counts: ReadonlyMap<string, number>
  /** What is known of endpoints beyond their attempts. */
  facts: EndpointFacts
}

export function destinationsOf(known: Known, findDestination: FindDestination): DeliveryDestination[] {
  const destinations = known.targets.map((target) => destinationOf(known, target, findDestination))
  const isTold = destinations.some(({ status }) => status === 'retrying' || status === 'held')
  return known.status === 'retrying' && !isTold ? destinations.map(retried) : destinations
}

/** Where the whole is retried and no destination is, it was kept from its first attempt at what is open. */
function retried(destination: DeliveryDestination): DeliveryDestination {
  const { endpoints, status } = destination
  if (status !== 'delivering') return destination
  const ofEndpoint = (endpoint: DeliveryEndpoint): DeliveryEndpoint =>
    endpoint.status === 'delivering' ? { ...endpoint, status: 'retrying' } : endpoint
  return { ...destination, status: 'retrying', endpoints: endpoints.map(ofEndpoint) }
}

function destinationOf(known: Known, target: DeliveryTarget, findDestination: FindDestination): DeliveryDestination {
  const { destinationId, endpointIds, isChosenEndpoint, successPolicy, retryWindowMs, retryAtEndpoints = {} } = target
  const destination = findDestination(destinationId)
  const facts = new Map(endpointIds.map((id) => [id, factOf(known, id)]))
  const isTaken = [...facts.values()].some(({ status }) => status === 'delivered')
  const open = { ...known, isEnough: isTaken && successPolicy === 'any', isPaused: destination?.paused === true }
  const endpoints = endpointIds.map((endpointId): DeliveryEndpoint => {
    const { status: found, attempts = 0, reason, lastUrl } = facts.get(endpointId) ?? {}
    const status = endOfOpen(open, attempts, found)
    const url = lastUrl ?? destination?.settings.webhooks.find(({ id }) => id === endpointId)?.url ?? null
    const own = retryAtEndpoints[endpointId]?.retryWindowMs
    return {
      ...{ endpointId, url, status, attempts, reason: status === 'delivered' ? null : (reason ?? null) },
      ...(own !== undefined && { retryWindowMs: own }),
    }
  })
  const status = statusOf(target, endpoints)
  return {
    ...{ destinationId, status },
    ...(retryWindowMs !== undefined && { retryWindowMs }),
    ...(isChosenEndpoint === true && { isChosenEndpoint }),
    endpoints,
  }
}

/** What is known of the endpoints of an event that ended in the inbox: none of them got it, for the same reason. */
export const factsOfRefusal = ({
  input: { targets },
  refusal,
}: Pick<QueuedEvent, 'input' | 'refusal'>): EndpointFacts =>
  refusal === undefined
    ? new Map()
    : new Map(
        targets
          .flatMap(({ endpointIds }) => endpointIds)
          .map((id) => [id, { status: 'failed', attempts: 0, reason: refusal }]),
      )

/** Ids of the destinations where a delivery is not settled. */
export const openDestinations = ({ destinations }: Pick<DeliveryDetail, 'destinations'>): string[] =>
  destinations.filter(({ status }) => underWay.has(status)).map(({ destinationId }) => destinationId)

/** What is known of an endpoint; no status as long as it is open and nothing but its attempts tells of it. */
function factOf(
  { timeline, counts, facts }: Known,
  endpointId: string,
): Partial<EndpointFact> & { lastUrl?: string | null } {
  const made = timeline.filter((attempt) => attempt.endpointId === endpointId)
  const fact = facts.get(endpointId)
  const last = made.at(-1)
  const isTaken = made.some(({ error, status }) => error === null && status !== null)
  const status = fact?.status ?? (isTaken ? 'delivered' : undefined)
  const reason = fact?.reason ?? last?.error ?? undefined
  return {
    attempts: Math.max(fact?.attempts ?? 0, counts.get(endpointId) ?? 0),
    lastUrl: last?.url ?? null,
    ...(status !== undefined && { status }),
    ...(reason !== undefined && { reason }),
  }
}

const underWay: ReadonlySet<string> = new Set(['queued', ...openStatuses])

/** Where an endpoint stands that has not ended by itself. */
function endOfOpen(
  { status, endedAt, isEnough, isPaused }: Known & { isEnough: boolean; isPaused: boolean },
  attempts: number,
  known: EndpointStatus | undefined,
): EndpointStatus {
  if (known !== undefined && !underWay.has(known)) return known
  if (isEnough && attempts > 0) return 'superseded'
  if (status === 'queued') return 'queued'
  if (endedAt !== null || status === 'failed') return status === 'partly_delivered' ? 'failed' : status
  if (isPaused) return 'held'
  return known ?? (attempts > 0 ? 'retrying' : 'delivering')
}

/** The first of these that any endpoint has, where no success of another one settles it. */
const precedence = [
  'queued',
  'held',
  'retrying',
  'delivering',
  'cancelled',
  'failed',
  'discarded',
] as const satisfies DestinationStatus[]

function statusOf({ successPolicy }: DeliveryTarget, endpoints: readonly DeliveryEndpoint[]): DestinationStatus {
  const has = (status: EndpointStatus): boolean => endpoints.some((endpoint) => endpoint.status === status)
  if (successPolicy === 'any' && has('delivered')) return 'delivered'
  return precedence.find(has) ?? 'delivered'
}
