/** Pauses of a flood of parcels while callers post: where the main thread has time for one of both only, what is accepted first is delivered no
 *  later in all, and callers have their answers sooner. */

import { performance } from 'node:perf_hooks'

/** Each parcel is followed by so many times the time that it took, and by so many milliseconds at most. */
const perParcel = 2
const longestMs = 250

/** The main thread has time to spare below this share of it. */
const busyShare = 0.9

export interface FloodPause {
  /** A parcel begins. */
  begin(): void
  /** How long to wait before the next parcel while callers wait, in milliseconds. */
  lengthMs(): number
}

/** @param isInboxHalfFull  callers get ahead no further then */
export function createFloodPause(isInboxHalfFull: () => boolean): FloodPause {
  let begunAt = performance.now()
  let loopThen = performance.eventLoopUtilization()
  return {
    begin() {
      begunAt = performance.now()
      loopThen = performance.eventLoopUtilization()
    },
    lengthMs() {
      const { utilization } = performance.eventLoopUtilization(loopThen)
      if (utilization < busyShare || isInboxHalfFull()) return 0
      return Math.min(longestMs, perParcel * (performance.now() - begunAt))
    },
  }
}
