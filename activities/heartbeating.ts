import { Context } from '@temporalio/activity'

/** Milliseconds between two heartbeats: how long it takes until a stop reaches the activity. Temporal writes each to its disk, and an attempt that
 *  hangs for its 5 s sends one. */
const heartbeatMs = 2_600

/** Runs work of any length, with heartbeats that show Temporal that it goes on.
 *  @param details  what the next try of the activity goes on with, when this one is lost with its worker */
export async function heartbeating<Result>(work: () => Promise<Result>, details?: () => unknown): Promise<Result> {
  const context = Context.current()
  const timer = setInterval(() => context.heartbeat(details?.()), heartbeatMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
