/** The bounds that are set for an endpoint: requests a second, and attempts at a time. All times are milliseconds as `performance.now` gives
 *  them. */

export interface SetBounds {
  /** Requests a second, spread evenly over it; undefined: as many as there are. */
  maxPerSecond: number | undefined
  /** First attempts and retries that are under way together; undefined: no bound but the node's. */
  maxConcurrent: number | undefined
}

/** An endpoint with its bounds. */
interface Bounded extends SetBounds {
  /** When the next request may go by the rate that is set. */
  nextAt: number
}

/** One that goes late does not lower the rate, up to so many milliseconds: timers are not exact. */
const lateMs = 20

export const isBounded = ({ maxPerSecond, maxConcurrent }: Partial<SetBounds>): boolean =>
  maxPerSecond !== undefined || maxConcurrent !== undefined

/** Milliseconds between two requests; 0 where no rate is set. */
export const intervalMs = ({ maxPerSecond }: SetBounds): number =>
  maxPerSecond === undefined ? 0 : 1_000 / maxPerSecond

/** How long no request may go by the rate that is set. */
export const restMs = (endpoint: Bounded, now: number): number =>
  endpoint.maxPerSecond === undefined ? 0 : Math.max(0, endpoint.nextAt - now)

/** When the next request may go after one that goes now. */
export const nextAfter = (endpoint: Bounded, now: number): number =>
  (now - endpoint.nextAt <= lateMs ? endpoint.nextAt : now) + intervalMs(endpoint)

/** The bounds in words, for the operator. */
export const boundsText = ({ maxPerSecond, maxConcurrent }: SetBounds): string =>
  [
    ...(maxPerSecond === undefined ? [] : [`paced at ${maxPerSecond}/s`]),
    ...(maxConcurrent === undefined ? [] : [`at most ${maxConcurrent} at a time`]),
  ].join(', ')
