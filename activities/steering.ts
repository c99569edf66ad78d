/** Walks the deliveries of a bulk steering, oldest first, at a bounded rate. */

import { Context } from '@temporalio/activity'
import type { DestinationState } from '../src/contracts/delivery.ts'
import type {
  SteerDeliveriesInput,
  SteeringActivities,
  SteeringOrder,
  SteeringProgress,
} from '../src/contracts/steering.ts'
import type { Database } from '../src/db/database.ts'
import { destinationToRecheck, endRecheck } from '../src/db/destination-rechecks.ts'
import { carriedOldestFirst, openParcelsFor } from '../src/db/parcel-steering.ts'
import type { DeliveryFilter } from '../src/schemas/delivery.ts'
import type { OldWorkflow } from '../src/temporal/oldest-first.ts'
import type { CarriedSteering } from '../src/temporal/parcel-steering.ts'
import type { Steering } from '../src/temporal/steering.ts'
import { concurrency, counted, maxPerSecond, steerGroup } from './steer-group.ts'
import { steerInbox, type InboxOrder } from './steer-inbox.ts'

/** Longest usual time of a first round, in milliseconds: one that is longer is told for nothing. */
const firstRoundMs = 10_000

/** How many parcels are read together, to be signalled a change. */
const parcelsTogether = 100

/** How far the clock of Temporal may be ahead of this node's, in milliseconds. */
const clockSkewMs = 60_000

export interface SteeringActivityDependencies {
  database: Database
  steering: Steering
  /** Tells a parcel of a change of a destination. */
  tellParcel: CarriedSteering['tell']
  /** Ids of the destinations that hold their deliveries now. */
  pausedDestinations: () => string[]
  /** Deliveries of a query that started in [from, until), in groups from the oldest on. */
  oldestFirst: (query: string, from: Date, until: Date) => AsyncIterable<OldWorkflow[]>
  /** Condition of the deliveries that left a parcel, and started in it before a moment. */
  leftParcelOfBefore: (moment: Date) => string
  /** A moment before which none of a query started. */
  beforeOldest: (query: string, until: Date) => Promise<Date>
  /** Resolves when Temporal's lists show what has started before. */
  untilListed: () => Promise<void>
  /** When the event of a delivery was accepted, ISO 8601; undefined where that is not known. */
  acceptedAt: (deliveryId: string) => Promise<string | undefined>
  readDestination: (destinationId: string) => Promise<DestinationState>
  /** Query of the deliveries that wait for a destination.
   *  @param untriedSince  deliveries that began later and have no outcome yet are left out */
  waitingQuery: (destinationId: string, untriedSince: Date) => string
  /** Query of the deliveries that this destination holds, and no other one. */
  heldQuery: (destinationId: string) => string
}

export function createSteeringActivities(dependencies: SteeringActivityDependencies): SteeringActivities {
  const { database, readDestination, waitingQuery, heldQuery } = dependencies
  return {
    steerMatching: (input) => steerMatching(dependencies, { ...input, until: new Date(input.until) }),

    async tellWaiting({ recheckId, round }) {
      const destinationId = await destinationToRecheck(database, recheckId)
      if (destinationId === undefined || (await readDestination(destinationId)).kind === 'paused') return undefined
      const query =
        round === 0 ? waitingQuery(destinationId, new Date(Date.now() - firstRoundMs)) : heldQuery(destinationId)
      const order = { action: 'recheck', destinationId } as const
      const until = new Date(Date.now() + clockSkewMs)
      const { done, failed } = await steerMatching(dependencies, { order, query, until, trace: {} })
      return done + failed + (await tellParcels(dependencies, destinationId, round))
    },

    endRecheck: ({ recheckId }) => endRecheck(database, recheckId),
  }
}

type Walk = Pick<SteerDeliveriesInput, 'order' | 'queued' | 'query' | 'carried' | 'trace' | 'orderedAt'> & {
  until: Date
}

async function steerMatching(dependencies: SteeringActivityDependencies, walk: Walk): Promise<SteeringProgress> {
  const { steering, beforeOldest } = dependencies
  const { query, until, order, queued, carried, trace } = walk
  const context = Context.current()
  const progress = (context.info.heartbeatDetails as SteeringProgress | undefined) ?? {
    done: 0,
    failed: 0,
    position: (query === undefined ? until : await beforeOldest(query, until)).toISOString(),
  }
  context.heartbeat(progress)
  if (queued !== undefined && isForInbox(order) && progress.queuedUntil === undefined) {
    const isFollowed = query !== undefined
    await steerInbox(dependencies, { order, filter: queued.filter, isFollowed, trace }, progress)
    progress.queuedUntil = new Date().toISOString()
    // What has left it last is to be found among the others.
    await dependencies.untilListed()
  }
  if (query !== undefined)
    for await (const group of startedOldestFirst(dependencies, { ...walk, query }, progress))
      await steerGroup(progress, group, async (few) => {
        await Promise.all(
          few.map(async ({ workflowId, startedAt }) => {
            if (startedAt < until || (await cameBefore(dependencies, workflowId, until)))
              await counted(progress, steering.carryOut(order, workflowId, trace))
          }),
        )
        progress.position = (few.at(-1)?.startedAt ?? until).toISOString()
      })
  if (carried === undefined || order.action === 'recheck') return progress
  for await (const group of carriedOf(dependencies, carried, progress))
    await steerGroup(progress, group, async (few) => {
      await Promise.all(few.map(({ id }) => counted(progress, steering.carryOutInParcel(order, id, trace))))
      const last = few.at(-1)
      if (last !== undefined) progress.carried = last.position
    })
  return progress
}

const isForInbox = (order: SteeringOrder): order is InboxOrder =>
  order.action === 'cancel' || order.action === 'redeliver'

/** Those that started before `until`, those that left a parcel in which they had, and all that started while the inbox was walked: what
 *  was in it may be among them. */
async function* startedOldestFirst(
  { oldestFirst, leftParcelOfBefore }: SteeringActivityDependencies,
  { query, until, orderedAt, order, queued }: Walk & { query: string },
  { position, queuedUntil }: SteeringProgress,
): AsyncGenerator<OldWorkflow[]> {
  const at = new Date(position)
  yield* oldestFirst(query, at, until)
  if (orderedAt !== undefined && until < new Date(orderedAt)) {
    const left = `${query} AND ${leftParcelOfBefore(until)}`
    yield* oldestFirst(left, at < until ? until : at, new Date(orderedAt))
  }
  if (queued === undefined || queuedUntil === undefined || order.action !== 'cancel') return
  const from = Math.max(Date.parse(position), Date.parse(queued.orderedAt), until.getTime())
  yield* oldestFirst(query, new Date(from), new Date(queuedUntil))
}

/** Whether the event of a delivery was accepted before a moment. */
async function cameBefore(
  { acceptedAt }: SteeringActivityDependencies,
  deliveryId: string,
  until: Date,
): Promise<boolean> {
  const at = await acceptedAt(deliveryId)
  return at !== undefined && Date.parse(at) < until.getTime()
}

const carriedOf = (
  { database, pausedDestinations }: SteeringActivityDependencies,
  filter: DeliveryFilter,
  { carried }: SteeringProgress,
) => carriedOldestFirst(database, { ...filter, paused: pausedDestinations() }, carried)

/** Sends one signal to each parcel: in the first round to all that have something open at the destination, then to those that are
 *  held.
 *  @returns how many there were */
async function tellParcels(
  { database, tellParcel, pausedDestinations }: SteeringActivityDependencies,
  destinationId: string,
  round: number,
): Promise<number> {
  const context = Context.current()
  const others = round === 0 ? undefined : pausedDestinations().filter((id) => id !== destinationId)
  let told = 0
  for (let last = ''; ;) {
    const parcels = await openParcelsFor(database, destinationId, others, last, parcelsTogether)
    for (let start = 0; start < parcels.length; start += concurrency) {
      context.cancellationSignal.throwIfAborted()
      const few = parcels.slice(start, start + concurrency)
      const pause = new Promise((resolve) => setTimeout(resolve, (few.length / maxPerSecond) * 1_000))
      await Promise.all(few.map((parcelId) => tellParcel(parcelId, destinationId)))
      context.heartbeat()
      await pause
    }
    told += parcels.length
    last = parcels.at(-1) ?? last
    if (parcels.length < parcelsTogether) return told
  }
}
