/** Walks the deliveries of a bulk steering at a bounded rate: those that wait in the inbox, then the others, oldest first. */

import { CancelledFailure, Context } from '@temporalio/activity'
import type { SteerDeliveriesInput, SteeringActivities, SteeringProgress } from '../src/contracts/steering.ts'
import { AppError } from '../src/errors.ts'
import type { DeliveryFilter } from '../src/schemas/delivery.ts'
import type { OldWorkflow } from '../src/temporal/oldest-first.ts'
import type { Steering } from '../src/temporal/steering.ts'

/** Deliveries steered at a time, and in a second: live ones keep most of the server. */
const concurrency = 8
const maxPerSecond = 100

/** Events of the inbox that are read at a time. */
const queuedGroup = 200

export interface SteeringActivityDependencies {
  steering: Steering
  /** Ids of events in the inbox, in groups. */
  queued: (filter: DeliveryFilter, groupSize: number) => AsyncIterable<string[]>
  /** Deliveries of a query that started in [from, until), in groups from the oldest on. */
  oldestFirst: (query: string, from: Date, until: Date) => AsyncIterable<OldWorkflow[]>
  retentionMs: number
}

export function createSteeringActivities(dependencies: SteeringActivityDependencies): SteeringActivities {
  const { steering, queued, oldestFirst, retentionMs } = dependencies
  return {
    async steerMatching(input) {
      const context = Context.current()
      const until = new Date(input.until)
      const begin = new Date(until.getTime() - 2 * retentionMs).toISOString()
      const progress = (context.info.heartbeatDetails as SteeringProgress | undefined) ?? {
        done: 0,
        failed: 0,
        position: begin,
      }
      context.heartbeat(progress)
      const steer = async (ids: string[], position = progress.position): Promise<void> => {
        if (context.cancellationSignal.aborted) throw new CancelledFailure('stopped', [progress])
        const pause = new Promise((resolve) => setTimeout(resolve, (ids.length / maxPerSecond) * 1_000))
        await Promise.all(ids.map((id) => steerOne(steering, input, id, progress)))
        progress.position = position
        context.heartbeat(progress)
        await pause
      }
      if (input.queued !== undefined)
        for await (const group of queued(input.queued, queuedGroup))
          for (const few of inChunks(group, concurrency)) await steer(few)
      if (input.query !== undefined)
        for await (const group of oldestFirst(input.query, new Date(progress.position), until))
          for (const few of inChunks(group, concurrency))
            await steer(
              few.map(({ workflowId }) => workflowId),
              few.at(-1)?.startedAt.toISOString(),
            )
      return progress
    },
  }
}

const inChunks = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

/** One that ended meanwhile, or cannot be steered, is counted and does not stop the others. */
async function steerOne(
  steering: Steering,
  { order, trace }: SteerDeliveriesInput,
  deliveryId: string,
  progress: SteeringProgress,
): Promise<void> {
  try {
    await steering.carryOut(order, deliveryId, trace)
    progress.done++
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    progress.failed++
  }
}
