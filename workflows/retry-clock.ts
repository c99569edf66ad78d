import type { ClockReading } from '../src/contracts/delivery.ts'

/** The time of one destination that counts for the retry windows of its endpoints: it runs from the first attempt on, and stands still while
 *  the destination is paused. */
export interface RetryClock {
  /** Begins the windows anew, because the first attempt was held, or nobody was there to make it. Pauses of the destination until now were
   *  noted before. */
  start(): void
  /** What is left of a window of such a length, in milliseconds. */
  remainingMs(windowMs: number): number
  /** When a window of such a length ends, in milliseconds since 1970, as far as pauses were noted. */
  endsAt(windowMs: number): number
  /** Takes note of how long the destination has been paused in all; the first figure is where counting begins. */
  notePause(pausedTotalMs: number): void
  /** The reading with which another clock goes on. */
  read(): ClockReading
}

export function createRetryClock(reading?: ClockReading): RetryClock {
  let { startedAt, pausedAtStart, pausedNow } = reading ?? { startedAt: Date.now(), pausedNow: 0 }
  const endsAt = (windowMs: number): number =>
    startedAt + windowMs + (pausedAtStart === undefined ? 0 : pausedNow - pausedAtStart)
  return {
    start() {
      startedAt = Date.now()
      pausedAtStart = pausedNow
    },
    remainingMs: (windowMs) => endsAt(windowMs) - Date.now(),
    endsAt,
    notePause(pausedTotalMs) {
      pausedAtStart ??= pausedTotalMs
      pausedNow = Math.max(pausedNow, pausedTotalMs)
    },
    read: () => ({ startedAt, pausedNow, ...(pausedAtStart !== undefined && { pausedAtStart }) }),
  }
}
