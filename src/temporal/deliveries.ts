/** The delivery log: Temporal's own visibility, newest first. */

import type { Delivery, DeliveryFilter, StartedStatus } from '../schemas/delivery.ts'
import type { Temporal } from './connection.ts'
import { deliveryQueries, partlyQuery, deliveredEarlyQuery, uncompletedQuery, unsuccessful } from './delivery-query.ts'
import { toDelivery, type ExecutionInfo } from './delivery-row.ts'
import { mergeNewestFirst } from './merge-newest-first.ts'

/** Where each query of a list goes on: its page token, empty at the beginning, null after its last row. */
export type ListPosition = (Uint8Array | null)[]

export interface DeliveryPage {
  items: Delivery[]
  /** Where the next page begins; undefined at the end. */
  next: ListPosition | undefined
}

export interface Deliveries {
  /** @param position  the `next` of the page before, with the same filter; the beginning unless given */
  list(filter: DeliveryFilter, limit: number, position?: ListPosition): Promise<DeliveryPage>
  count(filter: DeliveryFilter): Promise<number>
  /** The counts of all statuses at about one time. @param filter  without a status */
  countEach(filter: DeliveryFilter): Promise<Record<StartedStatus, number>>
}

const beginning = new Uint8Array()

/** @param pausedDestinations  ids of the destinations that hold their deliveries now */
export function createDeliveries(temporal: Temporal, pausedDestinations: () => string[]): Deliveries {
  const { namespace } = temporal
  const readPage = async (query: string, pageSize: number, token: Uint8Array | null) => {
    if (token === null) return { items: [], next: null }
    const { executions, nextPageToken } = await temporal.client.workflowService.listWorkflowExecutions({
      namespace,
      pageSize,
      query,
      ...(token.length > 0 && { nextPageToken: token }),
    })
    const isPaused = (id: string): boolean => pausedDestinations().includes(id)
    return {
      items: executions.map((info: ExecutionInfo) => toDelivery(info, isPaused)),
      next: nextPageToken.length > 0 ? nextPageToken : null,
    }
  }

  const countMatching = async (filter: DeliveryFilter): Promise<number> => {
    const queries = deliveryQueries(filter, pausedDestinations())
    const counts = await Promise.all(queries.map((query) => temporal.client.workflow.count(query)))
    return counts.reduce((total, { count }) => total + count, 0)
  }

  // Most deliveries have been delivered, and SQLite would look at each of them: they are what the others leave over.
  const countEach: Deliveries['countEach'] = async (filter) => {
    const [all, discarded, uncompleted, partly] = await Promise.all([
      countMatching(filter),
      countMatching({ ...filter, status: 'discarded' }),
      countByStatus(uncompletedQuery(filter)),
      countByStatus(partlyQuery(filter)),
    ])
    const running = uncompleted('Running')
    const [deliveredEarly, retrying, held] = running === 0 ? [0, 0, 0] : await countRunning(filter)
    const partlyCompleted = partly('Completed')
    const partlyFailed = partly(...unsuccessful.failed)
    const failed = Math.max(0, uncompleted(...unsuccessful.failed) - partlyFailed)
    const cancelled = uncompleted(...unsuccessful.cancelled)
    return {
      delivering: Math.max(0, running - deliveredEarly - retrying - held),
      retrying,
      held,
      delivered:
        Math.max(0, all - running - failed - partlyFailed - partlyCompleted - discarded - cancelled) + deliveredEarly,
      partly_delivered: partlyCompleted + partlyFailed,
      failed,
      discarded,
      cancelled,
    }
  }

  const countRunning = (filter: DeliveryFilter): Promise<[deliveredEarly: number, retrying: number, held: number]> =>
    Promise.all([
      temporal.client.workflow.count(deliveredEarlyQuery(filter)).then(({ count }) => count),
      countMatching({ ...filter, status: 'retrying' }),
      countMatching({ ...filter, status: 'held' }),
    ])

  /** @returns how many have one of Temporal's own statuses */
  const countByStatus = async (query: string): Promise<(...names: string[]) => number> => {
    const { groups } = await temporal.client.workflow.count(`${query} GROUP BY ExecutionStatus`)
    const counts = new Map(groups.map(({ groupValues: [name], count }) => [String(name), count]))
    return (...names) => names.reduce((total, name) => total + (counts.get(name) ?? 0), 0)
  }

  return {
    async list(filter, limit, position = []) {
      const queries = deliveryQueries(filter, pausedDestinations())
      const tokens = queries.map((_, index) => (position[index] === undefined ? beginning : position[index]))
      const pages = await Promise.all(queries.map((query, index) => readPage(query, limit, tokens[index] ?? null)))
      const { items, taken } = mergeNewestFirst(
        pages.map((page) => page.items),
        limit,
      )
      // A page that was used in part: the token of a shorter one leads to where it was left.
      const goOn = async (query: string, index: number): Promise<Uint8Array | null> => {
        const used = taken[index] ?? 0
        if (used === pages[index]?.items.length) return pages[index].next
        return used === 0 ? (tokens[index] ?? null) : (await readPage(query, used, tokens[index] ?? null)).next
      }
      const next = await Promise.all(queries.map(goOn))
      return { items, next: next.every((token) => token === null) ? undefined : next }
    },
    count: async (filter) => {
      const { status, ...rest } = filter
      return status === 'delivered' ? (await countEach(rest)).delivered : countMatching(filter)
    },
    countEach,
  }
}
