import type { ClockReading } from '../src/contracts/delivery.ts'

/** The retry window of one destination: it runs from the first attempt on, and stands still while the destination is paused. */
export interface RetryClock {
  /** Begins the window; a delivery that was held before its first attempt begins it anew. */
  start(): void
  remainingMs(): number
  /** Takes note of how long the destination has been paused in all; the first figure is where counting begins. */
  notePause(pausedTotalMs: number): void
  /** With what another clock goes on. */
  read(): ClockReading
}

export function createRetryClock(windowMs: number, reading?: ClockReading): RetryClock {
  let { startedAt, pausedAtStart, pausedNow } = reading ?? { startedAt: Date.now(), pausedNow: 0 }
  return {
    start() {
      startedAt = Date.now()
      pausedAtStart = undefined
    },
    remainingMs: () =>
      windowMs - (Date.now() - startedAt) + (pausedAtStart === undefined ? 0 : pausedNow - pausedAtStart),
    notePause(pausedTotalMs) {
      pausedAtStart ??= pausedTotalMs
      pausedNow = Math.max(pausedNow, pausedTotalMs)
    },
    read: () => ({ startedAt, pausedNow, ...(pausedAtStart !== undefined && { pausedAtStart }) }),
  }
}
