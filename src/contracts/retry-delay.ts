/** How long to wait before a failed attempt is repeated. Pure: workflows use it too. */

/** Pause before the next attempt, in milliseconds: doubling with each failed attempt from `initialMs` to `maxMs`, of
 *  which a random part between half and all is waited, so that deliveries that failed together do not return together.
 *  Never shorter than what is obeyed of a receiver's `Retry-After`, even beyond `maxMs`.
 *  @param attempt  attempts made so far, from 1
 *  @param random  from 0 up to 1, as `Math.random` gives it */
export const retryDelayMs = (options: {
  attempt: number
  initialMs: number
  maxMs: number
  retryAfterMs?: number | undefined
  random: () => number
}): number => {
  const step = Math.min(options.maxMs, options.initialMs * 2 ** (options.attempt - 1))
  const pause = Math.round((step / 2) * (1 + options.random()))
  return Math.max(pause, options.retryAfterMs ?? 0)
}

/** No pause between two attempts of a delivery is shorter, in milliseconds. */
export const shortestPauseMs = ({ initialMs }: { initialMs: number }): number => initialMs / 2

/** A `Retry-After` takes at most this share of what is left of the window. */
const longestShare = 1 / 4

/** What is obeyed of a receiver's `Retry-After`, in whole milliseconds: up to a quarter of what is left of the retry window.
 *  `spec/` has a request retried several times, whatever the receiver asks for. */
export const obeyedRetryAfterMs = (retryAfterMs: number, remainingMs: number): number =>
  Math.min(retryAfterMs, Math.max(0, Math.floor(remainingMs * longestShare)))
