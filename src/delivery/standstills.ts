/** Whether this process stood still: it was stopped, its machine slept, or had no time for it. Whoever waits for its word may have given
 *  it up meanwhile. */

/** Milliseconds between two looks, and how late one is after a standstill. */
const lookPauseMs = 500
const standstillMs = 2_000

export interface Standstills {
  /** When the latest one ended, in milliseconds since 1970; -Infinity where there was none. */
  latest(): number
  /** Whether there was one since a moment, in milliseconds since 1970. */
  since(moment: number): boolean
  stop(): void
}

export function watchStandstills(): Standstills {
  let lookedAt = Date.now()
  let endedAt = -Infinity
  const look = (): void => {
    const now = Date.now()
    if (now - lookedAt > standstillMs) endedAt = now
    lookedAt = now
  }
  const timer = setInterval(look, lookPauseMs).unref()
  const latest = (): number => {
    // What comes in after a standstill may be read before the timer is.
    look()
    return endedAt
  }
  return {
    latest,
    since: (moment) => latest() >= moment,
    stop: () => clearInterval(timer),
  }
}
