/** The retry schedule at a destination that has a window or pauses of its own. Pure: workflows and activities use it alike. */

import type { DeliveryTarget, RetrySchedule } from './delivery.ts'

/** The longest pause of a window, as a share of it: 15 minutes of 4 hours. No pause need be longer than two hours, in milliseconds. */
const longestShare = 1 / 16
const longestMs = 7_200_000

type Own = Pick<DeliveryTarget, 'retryWindowMs' | 'retryPauses'>

/** What a destination is set to. */
interface OwnSettings {
  /** How long an event is tried there, in hours; null: as the node has it. */
  retryWindowHours: number | null
  /** The first and the longest pause between two attempts; null: as the node has them. */
  retryPauses: {
    /** In seconds. */
    firstSeconds: number
    /** In seconds. */
    maxSeconds: number
  } | null
}

/** What a destination has of its own, as its events take it along. */
export const ownRetry = ({ retryWindowHours, retryPauses }: OwnSettings): Own => ({
  ...(retryWindowHours !== null && { retryWindowMs: retryWindowHours * 3_600_000 }),
  ...(retryPauses !== null && {
    retryPauses: { initialMs: retryPauses.firstSeconds * 1_000, maxMs: retryPauses.maxSeconds * 1_000 },
  }),
})

/** @param retry  the schedule of the delivery, for destinations without one of their own */
export function retryAt(retry: RetrySchedule, { retryWindowMs: windowMs, retryPauses }: Own = {}): RetrySchedule {
  if (windowMs === undefined) return retryPauses === undefined ? retry : { ...retry, ...retryPauses }
  const maxMs = Math.max(retry.maxMs, Math.min(longestMs, windowMs * longestShare))
  return { ...retry, windowMs, maxMs, ...retryPauses }
}

/** What several events at one destination have in common: the longest of their windows, and its pauses.
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
