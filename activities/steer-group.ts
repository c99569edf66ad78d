/** Steers deliveries a few at a time, and at a bounded rate, and counts what comes of it. */

import { CancelledFailure, Context } from '@temporalio/activity'
import { noteFailure, type SteeringProgress } from '../src/contracts/steering.ts'
import { AppError } from '../src/errors.ts'

/** Deliveries steered at a time, and in a second: live ones keep most of the server. */
export const concurrency = 8
export const maxPerSecond = 100

export async function steerGroup<Item>(
  progress: SteeringProgress,
  group: readonly Item[],
  steer: (few: readonly Item[]) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < group.length; start += concurrency) {
    stopIfAsked(progress)
    const few = group.slice(start, start + concurrency)
    const pause = new Promise((resolve) => setTimeout(resolve, (few.length / maxPerSecond) * 1_000))
    await steer(few)
    Context.current().heartbeat(progress)
    await pause
  }
}

/** @throws CancelledFailure with how far it is, when an operator has stopped it */
export function stopIfAsked(progress: SteeringProgress): void {
  if (Context.current().cancellationSignal.aborted) throw new CancelledFailure('stopped', [progress])
}

/** Said in place of the sentence that names the delivery: those have it in common. */
const notKept = 'its time in Temporal is over'

/** Counts a delivery as done, or as failed where it ended meanwhile or cannot be steered; the others go on.
 *  @param steered  false where there was nothing to steer, which counts as neither */
export async function counted(progress: SteeringProgress, steered: Promise<unknown>): Promise<void> {
  try {
    if ((await steered) !== false) progress.done++
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    progress.failed++
    noteFailure((progress.failures ??= []), error.code === 'not_found' ? notKept : error.message)
  }
}
