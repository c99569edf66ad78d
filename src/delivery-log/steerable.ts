/** How many deliveries an action can act on, and what keeps it from the others: of all that match, or of single ones. */

import { eventIdOf, redeliveryNumberOf, redeliveryWorkflowId } from '../contracts/names.ts'
import { steeredInInbox, type InboxStatus } from '../contracts/steering.ts'
import { isOpenStatus } from '../db/parcel-statuses.ts'
import { AppError } from '../errors.ts'
import type {
  Delivery,
  DeliveryFilter,
  DeliveryStatus,
  StartedStatus,
  Steerable,
  SteeringAction,
  SteeringObstacle,
} from '../schemas/delivery.ts'
import { heldOnlyBy } from '../temporal/held.ts'
import { withoutLimit } from '../within.ts'
import { openDestinations } from './delivery-destinations.ts'
import type { DeliveryLog } from './delivery-log.ts'

/** Where the status does not tell everything, the newest of those that match are looked at, up to so many; of more, the share that is
 *  found among them counts for all. A held one may have to be read, which takes longer. */
const mostLookedAt: Record<SteeringAction, number> = { retry: 100, redeliver: 500, cancel: 0 }

/** Rows that are asked for together, and deliveries. */
const rowsTogether = 100
const readTogether = 8

export interface SteerableDependencies {
  log: Pick<DeliveryLog, 'countInboxed' | 'countResults' | 'countStarted' | 'list' | 'read'>
  /** Whether a destination holds its deliveries now. */
  isPaused: (destinationId: string) => boolean
  /** Whether a destination is there and switched on, with an endpoint. */
  isLeft: (destinationId: string) => boolean
  /** Which of these deliveries Temporal knows. */
  known: (ids: readonly string[]) => Promise<ReadonlySet<string>>
}

/** Both wait for Temporal as long as it takes. */
export interface SteerableCounts {
  /** Of all that match, those in the inbox included. */
  ofFilter(action: SteeringAction, filter: DeliveryFilter): Promise<Steerable>
  /** Of single ones, by their ids. */
  ofIds(action: SteeringAction, ids: readonly string[]): Promise<Steerable>
}

export function createSteerableCounts({ log, isPaused, isLeft, known }: SteerableDependencies): SteerableCounts {
  /** What keeps an action from a delivery to which its status is no obstacle. */
  const lookAt = async (action: SteeringAction, delivery: Delivery): Promise<SteeringObstacle | undefined> => {
    const { id, status, destinationIds, erased } = delivery
    if (erased && action !== 'cancel') return 'gone'
    // It may have ended at the destination that was asked for, and go on at another.
    if (action === 'redeliver' && isOpenStatus(status)) return 'under_way'
    if (action === 'redeliver') return destinationIds.some(isLeft) ? undefined : 'no_destination'
    if (action === 'cancel' || status !== 'held') return undefined
    const readOpen = async (): Promise<string[]> => openDestinations(await log.read(id, withoutLimit))
    return (await heldOnlyBy(destinationIds, isPaused, readOpen)).length > 0 ? 'held' : undefined
  }

  /** @returns how many of these deliveries were delivered again since */
  const countRedelivered = async (deliveries: readonly Delivery[]): Promise<number> => {
    const next = deliveries.map(({ id }) => redeliveryWorkflowId(eventIdOf(id), redeliveryNumberOf(id) + 1))
    const found = await groupByGroup(next, rowsTogether, async (ids) => [(await known(ids)).size])
    return found.reduce((all, count) => all + count, 0)
  }

  /** Looks at deliveries to which their status is no obstacle, and tells what it finds, each time as if there were `share` of them. */
  const lookAtEach = async (
    action: SteeringAction,
    deliveries: readonly Delivery[],
    tally: Tally,
    share = 1,
  ): Promise<void> => {
    const obstacles = await groupByGroup(deliveries, readTogether, (few) =>
      Promise.all(few.map((delivery) => lookAt(action, delivery))),
    )
    for (const obstacle of obstacles) tally.keep(obstacle, share)
    if (action !== 'redeliver') return
    tally.redelivered =
      share * (await countRedelivered(deliveries.filter((_, index) => obstacles[index] === undefined)))
  }

  const newest = async (filter: DeliveryFilter, most: number): Promise<Delivery[]> => {
    const rows: Delivery[] = []
    let cursor: string | undefined
    do {
      const page = await log.list(filter, { limit: rowsTogether, cursor }, withoutLimit)
      rows.push(...page.items)
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined && rows.length < most)
    return rows
  }

  /** @returns undefined when nothing is known of it any more */
  const readKnown = async (id: string): Promise<Delivery | undefined> => {
    try {
      return await log.read(id, withoutLimit)
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return undefined
      throw error
    }
  }

  return {
    async ofFilter(action, filter) {
      const { status, ...rest } = filter
      const countStarted = status === undefined ? log.countStarted : log.countResults
      const [inboxed, started] = await Promise.all([log.countInboxed(rest), countStarted(rest)])
      const tally = new Tally()
      const fits = ([one]: [string, number]): boolean => status === undefined || one === status
      let unsure = 0
      for (const [one, count] of (Object.entries(inboxed) as [InboxStatus, number][]).filter(fits)) {
        const obstacle = obstacleInInbox(action, one)
        tally.count(obstacle, count)
        if (obstacle === undefined && mayHaveObstacle(action, one)) unsure += count
      }
      for (const [one, count] of (Object.entries(started) as [StartedStatus, number][]).filter(fits)) {
        tally.count(obstacleTo(action, one), count)
        if (mayHaveObstacle(action, one)) unsure += count
      }
      if (unsure > 0) {
        const asked = action === 'retry' ? { ...filter, status: 'held' as const } : filter
        const rows = await newest(asked, mostLookedAt[action])
        const unsureRows = rows.filter((row) => mayHaveObstacle(action, status ?? row.status))
        // Temporal's lists may not have yet what it counts.
        await lookAtEach(action, unsureRows, tally, unsure / Math.max(1, unsureRows.length))
      }
      return tally.told()
    },

    async ofIds(action, ids) {
      const tally = new Tally()
      const found = await groupByGroup(ids, readTogether, (few) => Promise.all(few.map(readKnown)))
      const unsure: Delivery[] = []
      for (const delivery of found) {
        const obstacle = delivery === undefined ? 'gone' : obstacleToOne(action, delivery)
        tally.count(obstacle, 1)
        if (delivery !== undefined && obstacle === undefined) unsure.push(delivery)
      }
      await lookAtEach(action, unsure, tally)
      return tally.told()
    },
  }
}

/** What is counted. */
class Tally {
  private matched = 0
  private readonly kept = new Map<SteeringObstacle, number>()
  redelivered: number | undefined

  /** Counts deliveries, and what keeps the action from them. */
  count(obstacle: SteeringObstacle | undefined, count: number): void {
    this.matched += count
    this.keep(obstacle, count)
  }

  /** Tells what keeps the action from deliveries that are counted. */
  keep(obstacle: SteeringObstacle | undefined, count: number): void {
    if (obstacle !== undefined) this.kept.set(obstacle, (this.kept.get(obstacle) ?? 0) + count)
  }

  told(): Steerable {
    const { matched, redelivered } = this
    const obstacles = [...this.kept]
      .map(([obstacle, count]) => ({ obstacle, count: Math.round(count) }))
      .filter(({ count }) => count > 0)
    const steerable = Math.max(0, matched - obstacles.reduce((all, { count }) => all + count, 0))
    return {
      matched,
      steerable,
      obstacles,
      ...(redelivered !== undefined && { redelivered: Math.min(steerable, Math.round(redelivered)) }),
    }
  }
}

/** What keeps an action from a started delivery of this status; undefined: nothing that the status tells. */
function obstacleTo(action: SteeringAction, status: StartedStatus): SteeringObstacle | undefined {
  if (action === 'redeliver') return isOpenStatus(status) ? 'under_way' : undefined
  return isOpenStatus(status) ? undefined : 'over'
}

/** What keeps an action on all that match from an event of the inbox; a single one can be steered that was refused. */
function obstacleInInbox(action: SteeringAction, status: InboxStatus): SteeringObstacle | undefined {
  if (steeredInInbox(action, status).length > 0) return undefined
  return status === 'queued' ? 'queued' : 'over'
}

/** Whether something may keep an action from a delivery of this status that the status does not tell. */
const mayHaveObstacle = (action: SteeringAction, status: DeliveryStatus): boolean =>
  action === 'retry' ? status === 'held' : action === 'redeliver' && status !== 'queued' && !isOpenStatus(status)

/** The same of a single delivery, which may be in the inbox: there it can be started or cancelled, also after Temporal refused it. */
function obstacleToOne(action: SteeringAction, { status, endedAt }: Delivery): SteeringObstacle | undefined {
  if (status === 'queued') return action === 'redeliver' ? 'queued' : undefined
  return status === 'failed' && endedAt === null ? undefined : obstacleTo(action, status)
}

/** Does work for a few items at a time. */
async function groupByGroup<Item, Result>(
  items: readonly Item[],
  size: number,
  work: (group: readonly Item[]) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += size)
    results.push(...(await work(items.slice(start, start + size))))
  return results
}
