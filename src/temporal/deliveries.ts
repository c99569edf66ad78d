/** The delivery log: Temporal's own visibility; those under way first, then the latest to end. */

import { AppError } from '../errors.ts'
import { startedStatuses, type DeliveryFilter, type StartedStatus } from '../schemas/delivery.ts'
import type { Temporal } from './connection.ts'
import {
  deliveredEarlyQuery,
  deliveryQueries,
  differingQuery,
  partlyQuery,
  resultQueries,
  retriedQueries,
  sameEverywhere,
  storedFilter,
  uncompletedQuery,
  unsuccessful,
  wholeQueries,
  type StoredFilter,
} from './delivery-query.ts'
import { readShown, toDelivery, type ExecutionInfo, type ListedDelivery } from './delivery-row.ts'
import { mergeNewestFirst } from './merge-newest-first.ts'
import { opened } from './opened.ts'

/** Where each query of a list goes on: its page token, empty at the beginning, null after its last row. */
export type ListPosition = (Uint8Array | null)[]

export interface DeliveryPage {
  items: ListedDelivery[]
  /** Where the next page begins; undefined at the end. */
  next: ListPosition | undefined
}

export interface Deliveries {
  /** @param position  the `next` of the page before, with the same filter; the beginning unless given */
  list(filter: DeliveryFilter, limit: number, position?: ListPosition): Promise<DeliveryPage>
  count(filter: DeliveryFilter): Promise<number>
  /** The counts of all statuses as a whole, at about one time. @param filter  without a status */
  countEach(filter: DeliveryFilter): Promise<Counts>
  /** The same by where they stand at the destination of the filter, if it has one. */
  countResults(filter: DeliveryFilter): Promise<Counts>
  /** How many are tried again at any of these destinations. */
  countRetriedAt(destinationIds: readonly string[]): Promise<number>
}

const beginning = new Uint8Array()

type Counts = Record<StartedStatus, number>

/** One whose key is gone has no memo: the other rows are listed all the same. */
async function readRow(
  temporal: Temporal,
  given: ExecutionInfo,
  isPaused: (id: string) => boolean,
): Promise<ListedDelivery> {
  try {
    const info = opened(temporal.payloads, given)
    return toDelivery(info, await readShown(temporal, info), isPaused)
  } catch (error) {
    if (error instanceof AppError) return toDelivery({ ...given, memo: null }, undefined, isPaused)
    throw error
  }
}

/** @param pausedDestinations  ids of the destinations that hold their deliveries now */
export function createDeliveries(temporal: Temporal, pausedDestinations: () => string[]): Deliveries {
  const { namespace } = temporal
  const stored = (filter: DeliveryFilter): StoredFilter => storedFilter(filter, temporal.names)
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
      items: await Promise.all(executions.map((info) => readRow(temporal, info, isPaused))),
      next: nextPageToken.length > 0 ? nextPageToken : null,
    }
  }

  const sumOfCounts = async (queries: readonly string[]): Promise<number> => {
    const counts = await Promise.all(queries.map((query) => temporal.client.workflow.count(query)))
    return counts.reduce((total, { count }) => total + count, 0)
  }
  const countMatching = (filter: StoredFilter): Promise<number> =>
    sumOfCounts(deliveryQueries(filter, pausedDestinations()))

  /** @param different  how many of the filter's differ in a way that `condition` leaves out */
  const countWhole = async (filter: StoredFilter, condition = '', different = 0): Promise<Counts> => {
    const countOf = (status: StartedStatus): Promise<number> =>
      sumOfCounts(wholeQueries({ ...filter, status }, pausedDestinations(), condition))
    // Most deliveries have been delivered, and SQLite would look at each of them: they are what the others leave over.
    const [all, discarded, uncompleted, partly] = await Promise.all([
      countMatching(filter),
      countOf('discarded'),
      countByStatus(uncompletedQuery(filter, condition)),
      countByStatus(partlyQuery(filter, condition)),
    ])
    const running = uncompleted('Running')
    const [deliveredEarly, retrying, held] =
      running === 0
        ? [0, 0, 0]
        : await Promise.all([
            temporal.client.workflow.count(deliveredEarlyQuery(filter, condition)).then(({ count }) => count),
            countOf('retrying'),
            countOf('held'),
          ])
    const partlyCompleted = partly('Completed')
    const partlyFailed = partly(...unsuccessful.failed)
    const failed = Math.max(0, uncompleted(...unsuccessful.failed) - partlyFailed)
    const cancelled = uncompleted(...unsuccessful.cancelled)
    const others = running + failed + partlyFailed + partlyCompleted + discarded + cancelled + different
    return {
      delivering: Math.max(0, running - deliveredEarly - retrying - held),
      retrying,
      held,
      delivered: Math.max(0, all - others) + deliveredEarly,
      partly_delivered: partlyCompleted + partlyFailed,
      failed,
      discarded,
      cancelled,
    }
  }

  const countResults = async (filter: StoredFilter): Promise<Counts> => {
    if (filter.destinationId === undefined) return countWhole(filter)
    // Destinations differ in few deliveries, and mostly in none: one look instead of one for each status.
    if ((await sumOfCounts([differingQuery(filter)])) === 0) return countWhole(filter)
    const counts = startedStatuses.map(async (status) => {
      const count = await sumOfCounts(resultQueries({ ...filter, status }, pausedDestinations()))
      return [status, count] as const
    })
    const differing = await Promise.all(counts)
    const whole = await countWhole(
      filter,
      sameEverywhere,
      differing.reduce((sum, [, count]) => sum + count, 0),
    )
    return Object.fromEntries(differing.map(([status, count]) => [status, whole[status] + count])) as Counts
  }

  /** @returns how many have one of Temporal's own statuses */
  const countByStatus = async (query: string): Promise<(...names: string[]) => number> => {
    const { groups } = await temporal.client.workflow.count(`${query} GROUP BY ExecutionStatus`)
    const counts = new Map(groups.map(({ groupValues: [name], count }) => [String(name), count]))
    return (...names) => names.reduce((total, name) => total + (counts.get(name) ?? 0), 0)
  }

  return {
    async list(given, limit, position = []) {
      const queries = deliveryQueries(stored(given), pausedDestinations())
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
    count: async (given) => {
      const filter = stored(given)
      const { status, ...rest } = filter
      return status === 'delivered' ? (await countResults(rest)).delivered : countMatching(filter)
    },
    countEach: (given) => countWhole(stored(given)),
    countResults: (given) => countResults(stored(given)),
    countRetriedAt: (destinationIds) => sumOfCounts(retriedQueries(destinationIds, pausedDestinations())),
  }
}
