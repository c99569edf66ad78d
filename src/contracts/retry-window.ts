/** The retry schedule at a destination or an endpoint that has a window or pauses of its own. Pure: workflows and activities use it alike. */

import type { DeliveryTarget, OwnRetry, RetrySchedule } from './delivery.ts'

/** The longest pause of a window, as a share of it: 15 minutes of 4 hours. No pause need be longer than two hours, in milliseconds. */
const longestShare = 1 / 16
const longestMs = 7_200_000

/** What a destination or an endpoint is set to. */
interface OwnSettings {
  /** How long an event is tried there, in hours; null or absent: there is no other window. */
  retryWindowHours?: number | null | undefined
  /** The first and the longest pause between two attempts; null or absent: there are no others. */
  retryPauses?:
    | {
        /** In seconds. */
        firstSeconds: number
        /** In seconds. */
        maxSeconds: number
      }
    | null
    | undefined
}

/** What a destination is set to, and each of its endpoints. */
interface DestinationSettings extends OwnSettings {
  /** Where its requests go. */
  settings: {
    /** Its endpoints. */
    webhooks: readonly ({
      /** Id of the endpoint. */
      id: string
    } & OwnSettings)[]
  }
}

type RetryOfTarget = Pick<DeliveryTarget, 'retryWindowMs' | 'retryPauses' | 'retryAtEndpoints'>

/** What a destination and its endpoints have of their own, as events take it along. */
export function ownRetry(destination: DestinationSettings): RetryOfTarget {
  // Not copied: a destination's secrets are decrypted when they are read.
  const ofEndpoints = destination.settings.webhooks
    .map((endpoint) => [endpoint.id, ownOf(endpoint)] as const)
    .filter(([, own]) => Object.keys(own).length > 0)
  return { ...ownOf(destination), ...(ofEndpoints.length > 0 && { retryAtEndpoints: Object.fromEntries(ofEndpoints) }) }
}

const ownOf = ({ retryWindowHours, retryPauses }: OwnSettings): OwnRetry => ({
  ...(retryWindowHours && { retryWindowMs: retryWindowHours * 3_600_000 }),
  ...(retryPauses && {
    retryPauses: { initialMs: retryPauses.firstSeconds * 1_000, maxMs: retryPauses.maxSeconds * 1_000 },
  }),
})

/** The schedule at an endpoint: what it has of its own stands above what its destination has.
 *  @param retry  the schedule of the delivery, for what neither has */
export function retryAt(retry: RetrySchedule, target: RetryOfTarget, endpointId: string): RetrySchedule {
  const { retryWindowMs: windowMs, retryPauses } = { ...target, ...target.retryAtEndpoints?.[endpointId] }
  if (windowMs === undefined) return retryPauses === undefined ? retry : { ...retry, ...retryPauses }
  const maxMs = Math.max(retry.maxMs, Math.min(longestMs, windowMs * longestShare))
  return { ...retry, windowMs, maxMs, ...retryPauses }
}

/** What several events have in common at an endpoint: the longest of their windows, and its pauses. It is found once for each.
 *  @param targets  where each of the events goes */
export function commonRetries(
  retry: RetrySchedule,
  targets: readonly (readonly DeliveryTarget[])[],
): (destinationId: string, endpointId: string) => RetrySchedule {
  const known = new Map<string, RetrySchedule>()
  const find = (destinationId: string, endpointId: string): RetrySchedule => {
    const found = targets.flatMap((ofEvent) => ofEvent.filter((target) => target.destinationId === destinationId))
    return longestOf(
      found.map((target) => retryAt(retry, target, endpointId)),
      retry,
    )
  }
  return (destinationId, endpointId) => {
    const key = `${destinationId}/${endpointId}`
    const schedule = known.get(key) ?? find(destinationId, endpointId)
    known.set(key, schedule)
    return schedule
  }
}

/** The schedule with the longest window.
 *  @param otherwise  where there is none */
export function longestOf(schedules: readonly RetrySchedule[], otherwise: RetrySchedule): RetrySchedule {
  const [first = otherwise, ...others] = schedules
  return others.reduce((longest, one) => (one.windowMs > longest.windowMs ? one : longest), first)
}
