/** The delivery log: what waits in the inbox, then Temporal's visibility; newest first. */

import { z } from 'zod'
import type { Database } from '../db/database.ts'
import { findQueued, listQueued, type QueuedEvent } from '../db/inbox.ts'
import { countQueued } from '../db/inbox-count.ts'
import type { Page, PageRequest } from '../db/page.ts'
import { AppError } from '../errors.ts'
import type { Delivery, DeliveryDetail, DeliveryFilter, StartedStatus } from '../schemas/delivery.ts'
import type { Deliveries, ListPosition } from '../temporal/deliveries.ts'
import { readDelivery } from '../temporal/delivery-detail.ts'
import type { Temporal } from '../temporal/connection.ts'
import { sentRequests, type FindDestination } from './sent-requests.ts'

/** Where an event in the inbox may stand. */
export type InboxStatus = 'queued' | 'failed' | 'cancelled'

export interface DeliveryLog {
  /** @throws AppError bad_request when the cursor is not one of this list */
  list(filter: DeliveryFilter, page: PageRequest): Promise<Page<Delivery>>
  count(filter: DeliveryFilter): Promise<number>
  /** Those in the inbox, by status. @param filter  without one */
  countInboxed(filter: DeliveryFilter): Promise<Record<InboxStatus, number>>
  /** Those that Temporal has, by status. @param filter  without one */
  countStarted(filter: DeliveryFilter): Promise<Record<StartedStatus, number>>
  /** @throws AppError not_found */
  read(id: string): Promise<DeliveryDetail>
}

export interface DeliveryLogDependencies {
  database: Database
  temporal: Temporal
  deliveries: Deliveries
  findDestination: FindDestination
}

/** Where a page begins: in the inbox before a position, or in Temporal at page tokens. */
const CursorSchema = z.union([
  z.object({ before: z.string().regex(/^\d{1,19}$/) }),
  z.object({ tokens: z.array(z.base64().nullable()) }),
])
type Cursor = z.infer<typeof CursorSchema>

export function createDeliveryLog(dependencies: DeliveryLogDependencies): DeliveryLog {
  const { database, temporal, deliveries, findDestination } = dependencies
  const isPaused = (destinationId: string): boolean => findDestination(destinationId)?.paused === true

  const queuedPage = async (filter: DeliveryFilter, limit: number, before?: string): Promise<Page<Delivery>> => {
    const events = await listQueued(database, filter, limit + 1, before)
    const shown = events.slice(0, limit)
    const last = events.length > limit ? shown.at(-1) : undefined
    return { items: shown.map(toDelivery), nextCursor: last === undefined ? null : encodeCursor({ before: last.seq }) }
  }

  const temporalPage = async (
    filter: DeliveryFilter,
    limit: number,
    position?: ListPosition,
  ): Promise<Page<Delivery>> => {
    const { items, next } = await deliveries.list(filter, limit, position)
    const tokens = next?.map((token) => token && Buffer.from(token).toString('base64'))
    return { items, nextCursor: tokens === undefined ? null : encodeCursor({ tokens }) }
  }

  return {
    async list(filter, { limit, cursor }) {
      const position = cursor === undefined ? undefined : decodeCursor(cursor)
      if (position !== undefined && 'tokens' in position) {
        const tokens = position.tokens.map((token) => (token === null ? null : Buffer.from(token, 'base64')))
        return temporalPage(filter, limit, tokens)
      }
      const queued = await queuedPage(filter, limit, position?.before)
      if (queued.nextCursor !== null || filter.status === 'queued' || queued.items.length === limit) {
        // A full last page of the inbox: Temporal's first page follows it.
        const more = queued.nextCursor === null && filter.status !== 'queued' ? encodeCursor({ tokens: [] }) : null
        return { items: queued.items, nextCursor: queued.nextCursor ?? more }
      }
      const started = await temporalPage(filter, limit - queued.items.length)
      return { items: [...queued.items, ...started.items], nextCursor: started.nextCursor }
    },
    async count(filter) {
      const queued = await countQueued(database, filter)
      return filter.status === 'queued' ? queued : queued + (await deliveries.count(filter))
    },
    async countInboxed(filter) {
      const count = (status: InboxStatus): Promise<number> => countQueued(database, { ...filter, status })
      const [queued, failed, cancelled] = await Promise.all([count('queued'), count('failed'), count('cancelled')])
      return { queued, failed, cancelled }
    },
    countStarted: (filter) => deliveries.countEach(filter),
    async read(id) {
      const delivery = await readDelivery(temporal, id, isPaused)
      if (delivery !== undefined) {
        const { input, runId, ...detail } = delivery
        return {
          ...detail,
          ...sentRequests(input, detail.timeline, findDestination),
          temporalUiUrl: uiLink(temporal.uiUrl, temporal.namespace, id, runId),
        }
      }
      const queued = await findQueued(database, id)
      if (queued === undefined) throw new AppError('not_found', `no delivery has the id ${id}`)
      return {
        ...toDelivery(queued),
        message: queued.input.message,
        ...sentRequests(queued.input, [], findDestination),
        timeline: [],
        pending: [],
        steering: cancellationOf(queued),
        temporalUiUrl: null,
      }
    },
  }
}

/** An event in the inbox, as a row of the log. */
function toDelivery({ workflowId, input, receivedAt, cancelledAt, refusal }: QueuedEvent): Delivery {
  const { event, userId, type } = input.message
  return {
    id: workflowId,
    status: refusal !== undefined ? 'failed' : cancelledAt !== undefined ? 'cancelled' : 'queued',
    sourceId: input.sourceId,
    destinationIds: input.targets.map(({ destinationId }) => destinationId),
    type,
    event: typeof event === 'string' ? event : null,
    messageId: input.messageId,
    userId: userId ?? null,
    startedAt: receivedAt.toISOString(),
    endedAt: cancelledAt?.toISOString() ?? null,
    attempts: 0,
    nextAttemptAt: null,
    reason: refusal ?? null,
  }
}

const cancellationOf = ({ cancelled, cancelledAt }: QueuedEvent): DeliveryDetail['steering'] =>
  cancelledAt === undefined
    ? []
    : [{ at: cancelledAt.toISOString(), action: 'cancel', by: cancelled?.by ?? null, why: cancelled?.why ?? null }]

const encodeCursor = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString('base64url')

function decodeCursor(text: string): Cursor {
  try {
    return CursorSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
  } catch {
    throw new AppError('bad_request', 'cursor: is not a cursor of this list', { path: 'cursor' })
  }
}

const uiLink = (base: string | undefined, namespace: string, id: string, runId: string): string | null =>
  base === undefined
    ? null
    : `${base.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(id)}/${runId}`
