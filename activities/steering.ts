/** Walks the deliveries of a bulk steering, oldest first, at a bounded rate. */

import { CancelledFailure, Context } from '@temporalio/activity'
import type { SteerDeliveriesInput, SteeringActivities, SteeringProgress } from '../src/contracts/steering.ts'
import { AppError } from '../src/errors.ts'
import type { OldWorkflow } from '../src/temporal/oldest-first.ts'
import type { Steering } from '../src/temporal/steering.ts'

/** Deliveries steered at a time, and in a second: live ones keep most of the server. */
const concurrency = 8
const maxPerSecond = 100

export interface SteeringActivityDependencies {
  steering: Steering
  /** Deliveries of a query that started in [from, until), in groups from the oldest on. */
  oldestFirst: (query: string, from: Date, until: Date) => AsyncIterable<OldWorkflow[]>
  /** A moment before which none of a query started. */
  beforeOldest: (query: string, until: Date) => Promise<Date>
}

export function createSteeringActivities(dependencies: SteeringActivityDependencies): SteeringActivities {
  const { steering, oldestFirst, beforeOldest } = dependencies
  return {
    async steerMatching(input) {
      const context = Context.current()
      const until = new Date(input.until)
      const progress = (context.info.heartbeatDetails as SteeringProgress | undefined) ?? {
        done: 0,
        failed: 0,
        position: (await beforeOldest(input.query, until)).toISOString(),
      }
      context.heartbeat(progress)
      for await (const group of oldestFirst(input.query, new Date(progress.position), until)) {
        for (let start = 0; start < group.length; start += concurrency) {
          if (context.cancellationSignal.aborted) throw new CancelledFailure('stopped', [progress])
          const few = group.slice(start, start + concurrency)
          const pause = new Promise((resolve) => setTimeout(resolve, (few.length / maxPerSecond) * 1_000))
          await Promise.all(few.map((workflow) => steerOne(steering, input, workflow, progress)))
          progress.position = (few.at(-1)?.startedAt ?? until).toISOString()
          context.heartbeat(progress)
          await pause
        }
      }
      return progress
    },
  }
}

/** One that ended meanwhile, or cannot be steered, is counted and does not stop the others. */
async function steerOne(
  steering: Steering,
  { order, trace }: SteerDeliveriesInput,
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
