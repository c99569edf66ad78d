/** Walks the deliveries of a bulk steering, oldest first, at a bounded rate. */

import { CancelledFailure, Context } from '@temporalio/activity'
import type { DestinationState } from '../src/contracts/delivery.ts'
import {
  noteFailure,
  type SteerDeliveriesInput,
  type SteeringActivities,
  type SteeringProgress,
} from '../src/contracts/steering.ts'
import type { Database } from '../src/db/database.ts'
import { destinationToRecheck, endRecheck } from '../src/db/destination-rechecks.ts'
import { carriedOldestFirst, openParcelsFor } from '../src/db/parcel-steering.ts'
import { AppError } from '../src/errors.ts'
import type { DeliveryFilter } from '../src/schemas/delivery.ts'
import type { OldWorkflow } from '../src/temporal/oldest-first.ts'
import type { CarriedSteering } from '../src/temporal/parcel-steering.ts'
import type { Steering } from '../src/temporal/steering.ts'

/** Deliveries steered at a time, and in a second: live ones keep most of the server. */
const concurrency = 8
const maxPerSecond = 100

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
  /** A moment before which none of a query started. */
  beforeOldest: (query: string, until: Date) => Promise<Date>
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

type Walk = Pick<SteerDeliveriesInput, 'order' | 'query' | 'carried' | 'trace'> & { until: Date }

async function steerMatching(dependencies: SteeringActivityDependencies, walk: Walk): Promise<SteeringProgress> {
  const { steering, oldestFirst, beforeOldest } = dependencies
  const { query, until, order, carried, trace } = walk
  const context = Context.current()
  const progress = (context.info.heartbeatDetails as SteeringProgress | undefined) ?? {
    done: 0,
    failed: 0,
    position: (await beforeOldest(query, until)).toISOString(),
  }
  context.heartbeat(progress)
  for await (const group of oldestFirst(query, new Date(progress.position), until))
    await steerGroup(progress, group, async (few) => {
      await Promise.all(few.map(({ workflowId }) => counted(progress, steering.carryOut(order, workflowId, trace))))
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

const carriedOf = (
  { database, pausedDestinations }: SteeringActivityDependencies,
  filter: DeliveryFilter,
  { carried }: SteeringProgress,
) => carriedOldestFirst(database, { ...filter, paused: pausedDestinations() }, carried)

/** Steers deliveries a few at a time, and at a bounded rate. */
async function steerGroup<Item>(
  progress: SteeringProgress,
  group: readonly Item[],
  steer: (few: readonly Item[]) => Promise<void>,
): Promise<void> {
  const context = Context.current()
  for (let start = 0; start < group.length; start += concurrency) {
    if (context.cancellationSignal.aborted) throw new CancelledFailure('stopped', [progress])
    const few = group.slice(start, start + concurrency)
    const pause = new Promise((resolve) => setTimeout(resolve, (few.length / maxPerSecond) * 1_000))
    await steer(few)
    context.heartbeat(progress)
    await pause
  }
}

/** Said in place of the sentence that names the delivery: those have it in common. */
const notKept = 'its time in Temporal is over'

/** Counts a delivery as done, or as failed where it ended meanwhile or cannot be steered; the others go on. */
async function counted(progress: SteeringProgress, steered: Promise<void>): Promise<void> {
  try {
    await steered
    progress.done++
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    progress.failed++
    noteFailure((progress.failures ??= []), error.code === 'not_found' ? notKept : error.message)
  }
}

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
