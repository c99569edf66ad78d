/** The delivery log: what waits in the inbox, then Temporal's visibility and the events of parcels as one list: those under
 *  way first, then the latest to end. */

import { z } from 'zod'
import { eventName, shownText } from '../contracts/event-name.ts'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { InboxStatus } from '../contracts/steering.ts'
import type { Database } from '../db/database.ts'
import { findQueued, listQueued, type QueuedEvent } from '../db/inbox.ts'
import { countQueued } from '../db/inbox-count.ts'
import { jsonCursors, type Page, type PageRequest } from '../db/page.ts'
import { addCounts, countCarried, countRetriedAt, sumOf } from '../db/parcel-count.ts'
import type { OpenStatus } from '../db/parcel-statuses.ts'
import { findCarried, listCarried, type CarriedEvent, type CarriedPosition } from '../db/parcel-list.ts'
import { AppError, PartAwayError } from '../errors.ts'
import type { Delivery, DeliveryAttempt, DeliveryDetail, DeliveryFilter, StartedStatus } from '../schemas/delivery.ts'
import type { Deliveries, ListPosition } from '../temporal/deliveries.ts'
import { readDelivery, type StartedDelivery } from '../temporal/delivery-detail.ts'
import { whenToCome } from '../temporal/delivery-row.ts'
import type { Temporal } from '../temporal/connection.ts'
import { readCarried, type CarriedDetail } from '../temporal/parcel-detail.ts'
import { mergeNewestFirst } from '../temporal/merge-newest-first.ts'
import type { WhilePresent } from '../within.ts'
import { completeRows } from './complete-rows.ts'
import { destinationsOf } from './delivery-destinations.ts'
import { tellTurn } from './in-turn.ts'
import { tellKeptAway } from './kept-away.ts'
import { findLateAttempts } from './late-attempts.ts'
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

/** Where a page begins: in the inbox before a position, or behind it. */
const CursorSchema = z.union([
  z.object({ before: z.string().regex(/^\d{1,19}$/) }),
  z.object({
    /** Page tokens of Temporal's lists; null at their end. */
    tokens: z.array(z.base64().nullable()).nullable(),
    /** The last event of a parcel that was shown; null at their end. */
    carried: z
      .union([
        z.literal('first'),
        z.object({
          endedAt: z
            .string()
            .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
            .nullable(),
          seq: z.string().regex(/^-?\d{1,18}$/),
        }),
      ])
      .nullable(),
  }),
])
type Cursor = z.infer<typeof CursorSchema>
const cursors = jsonCursors(CursorSchema)

/** Where the two lists behind the inbox go on; undefined at the end of one. */
interface StartedPosition {
  tokens: ListPosition | undefined
  carried: CarriedPosition | 'first' | undefined
}

const beginning: StartedPosition = { tokens: [], carried: 'first' }

export function createDeliveryLog(dependencies: DeliveryLogDependencies): DeliveryLog {
  const { database, temporal, deliveries, pausedDestinations, findDestination } = dependencies
  const isPaused = (destinationId: string): boolean => findDestination(destinationId)?.paused === true
  const carriedRow = (event: CarriedEvent): Delivery => ofParcel(event, isPaused)
  // Asynchronous, since settings that are not read yet throw: beside others that failed, nobody would take notice of those.
  const countInParcels = async (filter: DeliveryFilter, asWhole = false): Promise<Record<StartedStatus, number>> =>
    countCarried(database, { ...filter, paused: pausedDestinations(), asWhole })

  const queuedPage = async (filter: DeliveryFilter, limit: number, before?: string): Promise<Page<Delivery>> => {
    const events = await listQueued(database, filter, limit + 1, before)
    const shown = events.slice(0, limit)
    const last = events.length > limit ? shown.at(-1) : undefined
    return {
      items: shown.map(toDelivery),
      nextCursor: last === undefined ? null : cursors.encode({ before: last.seq }),
    }
  }

  const carriedPage = async (filter: DeliveryFilter, limit: number, from: StartedPosition['carried']) =>
    from === undefined
      ? []
      : listCarried(database, { ...filter, paused: pausedDestinations() }, limit, from === 'first' ? undefined : from)

  /** What has started: two lists as one. */
  const startedPage = async (
    filter: DeliveryFilter,
    limit: number,
    { tokens, carried }: StartedPosition,
  ): Promise<Page<Delivery>> => {
    const [started, inParcels] = await Promise.all([
      tokens === undefined ? { items: [], next: undefined } : deliveries.list(filter, limit, tokens),
      carriedPage(filter, limit + 1, carried),
    ])
    // One that just left its parcel is in both.
    const own = new Set(started.items.map(({ id }) => id))
    const events = inParcels.filter(({ id }) => !own.has(id))
    const { items, taken } = mergeNewestFirst([started.items, events.map(carriedRow)], limit)
    const [ofStarted = 0, ofEvents = 0] = taken
    const tokensAfter = async (): Promise<ListPosition | undefined> => {
      if (ofStarted === started.items.length) return started.next
      return ofStarted === 0 ? tokens : (await deliveries.list(filter, ofStarted, tokens)).next
    }
    const carriedAfter = (): StartedPosition['carried'] => {
      if (ofEvents === events.length) return inParcels.length > limit ? inParcels.at(-1)?.position : undefined
      return ofEvents === 0 ? carried : events[ofEvents - 1]?.position
    }
    const position: StartedPosition = { tokens: await tokensAfter(), carried: carriedAfter() }
    const isEnd = position.tokens === undefined && position.carried === undefined
    return { items, nextCursor: isEnd ? null : cursors.encode(toCursor(position)) }
  }

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
    return { row: carriedRow(event), carried: await late.added(id, carried), parcelId: event.parcelId }
  }

  const completed = completeRows(async (id) => {
    const own = await readOwn(id)
    if (own !== undefined) return own
    const found = await readOfParcel(id)
    return found && { ...found.row, attempts: found.carried.attempts }
  }, late.count)

  /** The first page of what has started. While Temporal is away, a message that the database knows is shown without what
   *  Temporal knows of it.
   *  @param isFound  whether the inbox has some */
  const firstStarted = async (
    filter: DeliveryFilter,
    limit: number,
    isFound: boolean,
    whilePresent: WhilePresent,
  ): Promise<Page<Delivery>> => {
    try {
      return await whilePresent(() => startedPage(filter, limit, beginning))
    } catch (error) {
      if (!(error instanceof PartAwayError) || filter.messageId === undefined) throw error
      const events = await carriedPage(filter, limit, 'first')
      if (!isFound && events.length === 0) throw error
      return { items: events.map(carriedRow), nextCursor: null }
    }
  }

  const readQueued = async (id: string): Promise<DeliveryDetail | undefined> => {
    const queued = await findQueued(database, id)
    if (queued === undefined) return undefined
    const row = toDelivery(queued)
    const { targets } = queued.input
    return {
      ...row,
      destinations: destinationsOf({ ...row, targets, timeline: [], facts: new Map() }, findDestination),
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
        destinations: destinationsOf({ ...detail, timeline, targets, facts }, findDestination),
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
      destinations: destinationsOf({ ...row, ...detail, timeline, targets, facts }, findDestination),
      temporalUiUrl: runId === undefined ? null : uiLink(temporal.uiUrl, temporal.namespace, parcelId, runId),
    }
  }

  const listPage = async (
    filter: DeliveryFilter,
    { limit, cursor }: PageRequest,
    whilePresent: WhilePresent,
  ): Promise<Page<Delivery>> => {
    const position = cursor === undefined ? undefined : cursors.decode(cursor)
    if (position !== undefined && 'tokens' in position)
      return whilePresent(() => startedPage(filter, limit, fromCursor(position)))
    const queued = await queuedPage(filter, limit, position?.before)
    if (queued.nextCursor !== null || filter.status === 'queued' || queued.items.length === limit) {
      // A full last page of the inbox: the first page of what has started follows it.
      const more = queued.nextCursor === null && filter.status !== 'queued' ? cursors.encode(toCursor(beginning)) : null
      return { items: queued.items, nextCursor: queued.nextCursor ?? more }
    }
    const started = await firstStarted(filter, limit - queued.items.length, queued.items.length > 0, whilePresent)
    return { items: [...queued.items, ...started.items], nextCursor: started.nextCursor }
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

/** Why an event is still in the inbox whose destination keeps the order of each user's events. */
const behindAnother = 'waits for the event before it of the same user'

/** An event in the inbox, as a row of the log. */
function toDelivery({ workflowId, input, receivedAt, cancelledAt, refusal, isBehind }: QueuedEvent): Delivery {
  const { userId, type } = input.message
  const name = eventName(input.message)
  return {
    id: workflowId,
    status: refusal !== undefined ? 'failed' : cancelledAt !== undefined ? 'cancelled' : 'queued',
    sourceId: input.sourceId,
    destinationIds: input.targets.map(({ destinationId }) => destinationId),
    type,
    event: name && shownText(name),
    messageId: input.messageId,
    userId: userId === undefined ? null : shownText(userId),
    erased: false,
    startedAt: receivedAt.toISOString(),
    endedAt: cancelledAt?.toISOString() ?? null,
    attempts: 0,
    nextAttemptAt: null,
    reason: refusal ?? (isBehind ? behindAnother : null),
  }
}

/** What an event holds, with its name and ids in full, of which rows have the beginning; without an input, that it was erased. */
async function contentOf(
  input: DeliverEventInput | undefined,
  timeline: readonly DeliveryAttempt[],
  dependencies: SentRequestsDependencies,
): Promise<
  Pick<DeliveryDetail, 'erased' | 'event' | 'userId' | 'message' | 'body' | 'requests' | 'outOfOrder'> & {
    messageId?: string
  }
> {
  if (input === undefined)
    return { erased: true, event: null, userId: null, message: null, body: null, requests: [], outOfOrder: false }
  const { message, messageId, isOutOfOrder = false } = input
  return {
    erased: false,
    outOfOrder: isOutOfOrder,
    event: eventName(message),
    userId: message.userId ?? null,
    messageId,
    message,
    ...(await sentRequests(input, timeline, dependencies)),
  }
}

/** An event of a parcel, as a row of the log. */
function ofParcel(
  { status, receivedAt, endedAt, dueAt, results, ...event }: CarriedEvent,
  isPaused: (destinationId: string) => boolean,
): Delivery {
  const { id, sourceId, destinationIds, type, messageId, userId, erased, attempts, reason } = event
  // A destination that has settled it holds it no longer.
  const isWaitedFor = (destinationId: string): boolean => results === null || results[destinationId] === 'retrying'
  const isHeld = status === 'retrying' && destinationIds.some((one) => isPaused(one) && isWaitedFor(one))
  return {
    id,
    status: isHeld ? 'held' : status,
    sourceId,
    destinationIds,
    type,
    event: event.event,
    messageId,
    userId: userId && shownText(userId),
    erased,
    startedAt: receivedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    attempts,
    nextAttemptAt: isHeld ? null : whenToCome(dueAt?.toISOString()),
    reason,
  }
}

const cancellationOf = ({ cancelled, cancelledAt }: QueuedEvent): DeliveryDetail['steering'] =>
  cancelledAt === undefined
    ? []
    : [{ at: cancelledAt.toISOString(), action: 'cancel', by: cancelled?.by ?? null, why: cancelled?.why ?? null }]

const toCursor = ({ tokens, carried }: StartedPosition): Cursor => ({
  tokens: tokens?.map((token) => token && Buffer.from(token).toString('base64')) ?? null,
  carried: carried ?? null,
})

const fromCursor = ({ tokens, carried }: Extract<Cursor, { tokens: unknown }>): StartedPosition => ({
  tokens: tokens?.map((token) => (token === null ? null : Buffer.from(token, 'base64'))),
  carried: carried ?? undefined,
})

const uiLink = (base: string | undefined, namespace: string, id: string, runId: string): string | null =>
  base === undefined
    ? null
    : `${base.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(id)}/${runId}`
