import { Context } from '@temporalio/activity'

/** Milliseconds between two heartbeats: how long it takes until a stop reaches the activity. */
const heartbeatMs = 1_000

/** Runs work of any length while Temporal is told that it goes on. */
export async function heartbeating<Result>(work: () => Promise<Result>): Promise<Result> {
  const context = Context.current()
  const timer = setInterval(() => context.heartbeat(), heartbeatMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
