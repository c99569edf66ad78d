/** The retry schedule at a destination that has a window of its own. Pure: workflows and activities use it alike. */

import type { DeliveryTarget, RetrySchedule } from './delivery.ts'

/** The longest pause of a window, as a share of it: 15 minutes of 4 hours. No pause need be longer than two hours, in milliseconds. */
const longestShare = 1 / 16
const longestMs = 7_200_000

type Windowed = Pick<DeliveryTarget, 'retryWindowMs'>

/** @param retry  the schedule of the delivery, for destinations without a window of their own */
export function retryAt(retry: RetrySchedule, { retryWindowMs: windowMs }: Windowed = {}): RetrySchedule {
  if (windowMs === undefined) return retry
  return { ...retry, windowMs, maxMs: Math.max(retry.maxMs, Math.min(longestMs, windowMs * longestShare)) }
}

/** What several events at one destination have in common: the longest of their windows.
 *  @param targets  where each of the events goes */
export function commonRetryAt(
  retry: RetrySchedule,
  targets: readonly (readonly DeliveryTarget[])[],
  destinationId: string,
): RetrySchedule {
  const found = targets.flatMap((ofEvent) => ofEvent.filter((target) => target.destinationId === destinationId))
  const [first = retry, ...others] = found.map((target) => retryAt(retry, target))
  return others.reduce((longest, one) => (one.windowMs > longest.windowMs ? one : longest), first)
}
