/** Walks the deliveries of a bulk steering, oldest first, at a bounded rate. */

import { CancelledFailure, Context } from '@temporalio/activity'
import type { DestinationState } from '../src/contracts/delivery.ts'
import type { SteerDeliveriesInput, SteeringActivities, SteeringProgress } from '../src/contracts/steering.ts'
import type { Database } from '../src/db/database.ts'
import { destinationToRecheck, endRecheck } from '../src/db/destination-rechecks.ts'
import { AppError } from '../src/errors.ts'
import type { OldWorkflow } from '../src/temporal/oldest-first.ts'
import type { Steering } from '../src/temporal/steering.ts'

/** Deliveries steered at a time, and in a second: live ones keep most of the server. */
const concurrency = 8
const maxPerSecond = 100

/** A first round takes no longer, in milliseconds: an attempt has 5 s and waits half a second for its turn. */
const firstRoundMs = 10_000

/** The clock of Temporal may be ahead of this node's by so many milliseconds. */
const clockSkewMs = 60_000

export interface SteeringActivityDependencies {
  database: Database
  steering: Steering
  /** Deliveries of a query that started in [from, until), in groups from the oldest on. */
  oldestFirst: (query: string, from: Date, until: Date) => AsyncIterable<OldWorkflow[]>
  /** A moment before which none of a query started. */
  beforeOldest: (query: string, until: Date) => Promise<Date>
  readDestination: (destinationId: string) => Promise<DestinationState>
  /** Query of the deliveries that wait for a destination.
   *  @param untriedSince  later ones that have no outcome yet are left out */
  waitingQuery: (destinationId: string, untriedSince: Date) => string
  /** Query of those that this destination holds, and no other one. */
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
      const { done, failed } = await steerMatching(dependencies, {
        order,
        query,
        until: new Date(Date.now() + clockSkewMs),
        trace: {},
      })
      return done + failed
    },

    endRecheck: ({ recheckId }) => endRecheck(database, recheckId),
  }
}

type Walk = Pick<SteerDeliveriesInput, 'order' | 'query' | 'trace'> & { until: Date }

async function steerMatching(
  { steering, oldestFirst, beforeOldest }: SteeringActivityDependencies,
  walk: Walk,
): Promise<SteeringProgress> {
  const { query, until } = walk
  const context = Context.current()
  const progress = (context.info.heartbeatDetails as SteeringProgress | undefined) ?? {
    done: 0,
    failed: 0,
    position: (await beforeOldest(query, until)).toISOString(),
  }
  context.heartbeat(progress)
  for await (const group of oldestFirst(query, new Date(progress.position), until)) {
    for (let start = 0; start < group.length; start += concurrency) {
      if (context.cancellationSignal.aborted) throw new CancelledFailure('stopped', [progress])
      const few = group.slice(start, start + concurrency)
      const pause = new Promise((resolve) => setTimeout(resolve, (few.length / maxPerSecond) * 1_000))
      await Promise.all(few.map((workflow) => steerOne(steering, walk, workflow, progress)))
      progress.position = (few.at(-1)?.startedAt ?? until).toISOString()
      context.heartbeat(progress)
      await pause
    }
  }
  return progress
}

/** One that ended meanwhile, or cannot be steered, is counted and does not stop the others. */
async function steerOne(
  steering: Steering,
  { order, trace }: Walk,
  { workflowId }: OldWorkflow,
  progress: SteeringProgress,
): Promise<void> {
  try {
    await steering.carryOut(order, workflowId, trace)
    progress.done++
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    progress.failed++
  }
}
