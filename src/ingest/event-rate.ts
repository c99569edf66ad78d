/** Bounds how many events a second a node takes from each source. */

import { AppError } from '../errors.ts'

/** @param perSecond  events a second; one second's worth may come at once. Undefined: no bound
 *  @returns takes so many events of a source, all or none
 *    @throws AppError too_many_requests when the source sent more than it may; `Retry-After` says when it may again. A batch that is
 *    larger than what is left is taken whole, and the source waits the longer: it could never be sent otherwise */
export function boundEventRate(perSecond: number | undefined): (sourceId: string, events: number) => void {
  if (perSecond === undefined) return () => undefined
  /** When what each source sent is used up, by `performance.now`. Sources are few, and all are known. */
  const usedUpAt = new Map<string, number>()
  return (sourceId, events) => {
    const now = performance.now()
    const from = Math.max(now - 1_000, usedUpAt.get(sourceId) ?? -Infinity)
    if (from >= now)
      throw new AppError('too_many_requests', `This source may send ${perSecond} events a second.`, {
        retryAfterSeconds: Math.max(1, Math.ceil((from - now) / 1_000)),
      })
    usedUpAt.set(sourceId, from + (events / perSecond) * 1_000)
  }
}
