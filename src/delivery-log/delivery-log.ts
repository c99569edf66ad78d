/** The delivery log: what waits in the inbox, then Temporal's visibility, the events of parcels, and what ended in the inbox as one list:
 *  those under way first, then the latest to end. */

import { countAtEndpoints } from '../contracts/attempts.ts'
import { eventName } from '../contracts/event-name.ts'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { InboxStatus } from '../contracts/steering.ts'
import type { Database } from '../db/database.ts'
import { countQueued } from '../db/inbox-count.ts'
import { findQueued, type QueuedEvent } from '../db/inbox-list.ts'
import type { Page, PageRequest } from '../db/page.ts'
import { addCounts, countCarried, countRetriedAt, sumOf } from '../db/parcel-count.ts'
import type { OpenStatus } from '../db/parcel-statuses.ts'
import { findCarried } from '../db/parcel-list.ts'
import { AppError, PartAwayError } from '../errors.ts'
import type { Delivery, DeliveryAttempt, DeliveryDetail, DeliveryFilter, StartedStatus } from '../schemas/delivery.ts'
import type { Deliveries } from '../temporal/deliveries.ts'
import { readDelivery, type StartedDelivery } from '../temporal/delivery-detail.ts'
import type { Temporal } from '../temporal/connection.ts'
import { readCarried, type CarriedDetail } from '../temporal/parcel-detail.ts'
import type { WhilePresent } from '../within.ts'
import { completeRows } from './complete-rows.ts'
import { destinationsOf, factsOfRefusal } from './delivery-destinations.ts'
import { tellTurn } from './in-turn.ts'
import { tellKeptAway } from './kept-away.ts'
import { findLateAttempts } from './late-attempts.ts'
import { createListPage } from './list-page.ts'
import { carriedRow, queuedRow } from './rows.ts'
import { shownAttempts } from './shown-attempts.ts'
import { sentRequests, type SentRequestsDependencies } from './sent-requests.ts'

/** Destinations that are down for which it is counted what waits for them; of more, the first. */
const mostDown = 200

/** Each call is told how to wait for what asks Temporal. */
export interface DeliveryLog {
  /** @throws AppError bad_request when the cursor is not one of this list */
  list(filter: DeliveryFilter, page: PageRequest, whilePresent: WhilePresent): Promise<Page<Delivery>>
  count(filter: DeliveryFilter, whilePresent: WhilePresent): Promise<number>
  /** Those in the inbox, by status. @param filter  without one */
  countInboxed(filter: DeliveryFilter): Promise<Record<InboxStatus, number>>
  /** Those that have started, by their status as a whole. @param filter  without one */
  countStarted(filter: DeliveryFilter): Promise<Record<StartedStatus, number>>
  /** The same by where they stand at the destination of the filter, if it has one. */
  countResults(filter: DeliveryFilter): Promise<Record<StartedStatus, number>>
  /** Those under way by status, of all nodes; of those that are retried, the ones that wait for a destination which is down count apart.
   *  @param downDestinations  answers the ids of such destinations */
  countOpen(downDestinations: () => Promise<string[]>): Promise<Record<OpenStatus | 'waiting', number>>
  /** @throws AppError not_found */
  read(id: string, whilePresent: WhilePresent): Promise<DeliveryDetail>
}

export interface DeliveryLogDependencies extends SentRequestsDependencies {
  database: Database
  temporal: Temporal
  deliveries: Deliveries
  /** Ids of the destinations that hold their deliveries now. */
  pausedDestinations: () => string[]
  /** Why the endpoints of some destinations take no attempt now, where it is for their bounds. */
  boundsReason: (destinationIds: readonly string[]) => string | undefined
}

export function createDeliveryLog(dependencies: DeliveryLogDependencies): DeliveryLog {
  const { database, temporal, deliveries, pausedDestinations, findDestination } = dependencies
  const isPaused = (destinationId: string): boolean => findDestination(destinationId)?.paused === true
  const listPage = createListPage({ database, deliveries, pausedDestinations, isPaused })
  // Asynchronous, since settings that are not read yet throw: beside others that failed, nobody would take notice of those.
  const countInParcels = async (filter: DeliveryFilter, asWhole = false): Promise<Record<StartedStatus, number>> =>
    countCarried(database, { ...filter, paused: pausedDestinations(), asWhole })

  const keptAway = tellKeptAway(database, findDestination)
  const inTurn = tellTurn(dependencies.boundsReason)
  const late = findLateAttempts({ database, names: temporal.names })

  const readOwn = async (id: string): Promise<StartedDelivery | undefined> => {
    const delivery = await readDelivery(temporal, id, isPaused)
    return delivery && late.added(id, delivery)
  }

  /** An event of a parcel, as a row of the log and with all that is known of it. */
  const readOfParcel = async (
    id: string,
  ): Promise<{ row: Delivery; carried: CarriedDetail; parcelId: string } | undefined> => {
    const event = await findCarried(database, id)
    const carried = event && (await readCarried(temporal, event, isPaused))
    if (event === undefined || carried === undefined) return undefined
    return { row: carriedRow(event, isPaused), carried: await late.added(id, carried), parcelId: event.parcelId }
  }

  const completed = completeRows(async (id) => {
    const own = await readOwn(id)
    if (own !== undefined) return own
    const found = await readOfParcel(id)
    return found && { ...found.row, attempts: found.carried.attempts }
  }, late.count)

  const readQueued = async (id: string): Promise<DeliveryDetail | undefined> => {
    const queued = await findQueued(database, id)
    if (queued === undefined) return undefined
    const row = queuedRow(queued)
    const { targets } = queued.input
    return {
      ...row,
      destinations: destinationsOf(
        { ...row, targets, timeline: [], counts: new Map(), facts: factsOfRefusal(queued) },
        findDestination,
      ),
      ...(await contentOf(queued.input, [], dependencies)),
      timeline: [],
      pending: [],
      steering: cancellationOf(queued),
      temporalUiUrl: null,
    }
  }

  /** @returns undefined when neither Temporal nor a parcel has it */
  const readStarted = async (id: string): Promise<DeliveryDetail | undefined> => {
    const delivery = await readOwn(id)
    if (delivery !== undefined) {
      const { input, targets, made, facts, workflowId, runId, ...detail } = delivery
      const timeline = await shownAttempts(temporal, made, input?.messageId)
      return {
        ...detail,
        timeline,
        ...(await contentOf(input, timeline, dependencies)),
        destinations: destinationsOf(
          { ...detail, timeline, counts: countAtEndpoints(made), targets, facts },
          findDestination,
        ),
        temporalUiUrl: uiLink(temporal.uiUrl, temporal.namespace, workflowId, runId),
      }
    }
    const found = await readOfParcel(id)
    if (found === undefined) return undefined
    const { row, carried, parcelId } = found
    const { input: known, targets, made, facts, runId, ...detail } = carried
    const input = row.erased ? undefined : known
    const timeline = await shownAttempts(temporal, made, input?.messageId)
    return {
      ...row,
      ...detail,
      timeline,
      ...(await contentOf(input, timeline, dependencies)),
      destinations: destinationsOf(
        { ...row, ...detail, timeline, counts: countAtEndpoints(made), targets, facts },
        findDestination,
      ),
      temporalUiUrl: runId === undefined ? null : uiLink(temporal.uiUrl, temporal.namespace, parcelId, runId),
    }
  }

  return {
    async list(filter, page, whilePresent) {
      const { items, nextCursor } = await listPage(filter, page, whilePresent)
      return { items: (await keptAway.rows(await completed(items))).map(inTurn), nextCursor }
    },
    async count(filter, whilePresent) {
      if (filter.status === 'queued') return countQueued(database, filter)
      const [queued, inParcels, started] = await Promise.all([
        countQueued(database, filter),
        countInParcels(filter),
        whilePresent(() => deliveries.count(filter)),
      ])
      return queued + sumOf(inParcels) + started
    },
    async countInboxed(filter) {
      const count = (status: InboxStatus): Promise<number> => countQueued(database, { ...filter, status })
      const [queued, failed, cancelled] = await Promise.all([count('queued'), count('failed'), count('cancelled')])
      return { queued, failed, cancelled }
    },
    async countStarted(filter) {
      const [own, inParcels] = await Promise.all([deliveries.countEach(filter), countInParcels(filter, true)])
      return addCounts(own, inParcels)
    },
    async countResults(filter) {
      const [own, inParcels] = await Promise.all([deliveries.countResults(filter), countInParcels(filter)])
      return addCounts(own, inParcels)
    },
    async countOpen(downDestinations) {
      const down = (await downDestinations()).slice(0, mostDown)
      const paused = pausedDestinations()
      const [started, inParcels, ...retriedAtDown] = await Promise.all([
        deliveries.countEach({}),
        countInParcels({}),
        deliveries.countRetriedAt(down),
        countRetriedAt(database, down, paused),
      ])
      const { delivering, retrying, held } = addCounts(started, inParcels)
      const waiting = Math.min(retrying, retriedAtDown[0] + retriedAtDown[1])
      return { delivering, retrying: retrying - waiting, waiting, held }
    },
    async read(id, whilePresent) {
      try {
        const started = await whilePresent(() => readStarted(id))
        if (started !== undefined) return inTurn(await keptAway.detail(started))
      } catch (error) {
        const queued = error instanceof PartAwayError ? await readQueued(id) : undefined
        if (queued === undefined) throw error
        return inTurn(queued)
      }
      const queued = await readQueued(id)
      if (queued === undefined) throw new AppError('not_found', `no delivery has the id ${id}`)
      return inTurn(queued)
    },
  }
}

/** What an event holds, with its name and ids in full, of which rows have the beginning; without an input, that it was erased. */
async function contentOf(
  input: DeliverEventInput | undefined,
  timeline: readonly DeliveryAttempt[],
  dependencies: SentRequestsDependencies,
): Promise<
  Pick<
    DeliveryDetail,
    'erased' | 'event' | 'userId' | 'message' | 'body' | 'requests' | 'outOfOrder' | 'retryWindowMs'
  > & {
    messageId?: string
  }
> {
  if (input === undefined)
    return { erased: true, event: null, userId: null, message: null, body: null, requests: [], outOfOrder: false }
  const { message, messageId, isOutOfOrder = false, retry } = input
  return {
    erased: false,
    retryWindowMs: retry.windowMs,
    outOfOrder: isOutOfOrder,
    event: eventName(message),
    userId: message.userId ?? null,
    messageId,
    message,
    ...(await sentRequests(input, timeline, dependencies)),
  }
}

const cancellationOf = ({ cancelled, endedAt }: QueuedEvent): DeliveryDetail['steering'] =>
  cancelled === undefined || endedAt === undefined
    ? []
    : [{ at: endedAt.toISOString(), action: 'cancel', by: cancelled.by ?? null, why: cancelled.why ?? null }]

const uiLink = (base: string | undefined, namespace: string, id: string, runId: string): string | null =>
  base === undefined
    ? null
    : `${base.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(id)}/${runId}`
