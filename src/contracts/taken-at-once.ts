/** Events of parcels that each endpoint took at its first attempt: most of all events. The list of deliveries has no more of these attempts
 *  than when they were made, and what came of them: what was sent and answered stands in Temporal. */

import type { Attempt } from './delivery.ts'
import type { EndpointProgress, EventProgress } from './parcels.ts'

/** When an attempt began, in milliseconds since 1970, for how long it took, and the status of the answer. */
type Taken = [at: number, durationMs: number, status: number]

/** The attempts, of one endpoint after the other; null where that is not known any more. */
export type TakenAtOnce = (Taken | null)[]

/** The only attempts of an event; undefined where it was not taken at once by each endpoint. */
export function takenAtOnce({ end, destinations }: EventProgress): TakenAtOnce | undefined {
  const endpoints = destinations.flatMap((destination) => destination.endpoints)
  const isAtOnce = end === undefined && endpoints.every((one) => one.end === 'delivered' && one.attempts === 1)
  return isAtOnce ? endpoints.map(({ made: [attempt] }) => attemptTaken(attempt)) : undefined
}

const attemptTaken = (attempt?: Attempt): Taken | null =>
  attempt?.status === undefined ? null : [Date.parse(attempt.at), attempt.durationMs, attempt.status]

/** An event that was taken at once, of which Temporal may never have heard.
 *  @param begun  the event before its first attempts
 *  @param taken  null where a version before 0.2.0 wrote it down */
export function deliveredAtOnce(begun: EventProgress, taken: TakenAtOnce | null): EventProgress {
  let index = 0
  const delivered = ({ endpointId }: EndpointProgress): EndpointProgress => {
    const made = taken?.[index++]
    return { endpointId, attempts: 1, made: made ? [attemptOf(endpointId, made)] : [], end: 'delivered' }
  }
  return {
    ...begun,
    destinations: begun.destinations.map((destination) => ({
      ...destination,
      endpoints: destination.endpoints.map(delivered),
    })),
  }
}

const attemptOf = (endpointId: string, [at, durationMs, status]: Taken): Attempt => ({
  endpointId,
  at: new Date(at).toISOString(),
  durationMs,
  status,
})
