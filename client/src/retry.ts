/** Pauses between the attempts of a batch. */

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000
/** Longest pause for messages that are kept in a store, where more patience loses nothing. */
const LONGEST_KEPT_PAUSE_MS = 60_000
/** A server that asks for more patience than this gets its next request after this. */
const LONGEST_RETRY_AFTER_MS = 300_000

/**
 * Milliseconds before the next attempt: 500 ms, doubling up to 10 s, for what is kept up to 60 s, of which a random half is taken off so that many
 * clients do not return at once. A server's `Retry-After` counts instead, up to 5 minutes, with up to a tenth added.
 * @param attempt  attempts made so far, from 1
 * @param isKept  whether nothing is lost by patience
 */
export function retryPauseMs(attempt: number, retryAfterMs: number | undefined, isKept: boolean): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS) * (1 + Math.random() / 10)
  return (
    Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), isKept ? LONGEST_KEPT_PAUSE_MS : LONGEST_PAUSE_MS) *
    (1 - Math.random() / 2)
  )
}

/** Waits without keeping a program alive; ends early when `stop`, which has not yet, aborts. */
export function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => callAfter(ms, stop, resolve))
}

/**
 * Calls `end` after `ms` milliseconds or as soon as `stop`, which has not yet, aborts; without keeping a program alive.
 * @returns cancels that
 */
export function callAfter(ms: number, stop: AbortSignal, end: () => void): () => void {
  const onTime = () => {
    cancel()
    end()
  }
  const timer = unref(setTimeout(onTime, ms))
  stop.addEventListener('abort', onTime)
  const cancel = () => {
    clearTimeout(timer)
    stop.removeEventListener('abort', onTime)
  }
  return cancel
}

/** Lets a program end although the timer runs. In browsers, where timers are numbers, it changes nothing. */
export function unref<Timer>(timer: Timer): Timer {
  ;(timer as { unref?: () => void }).unref?.()
  return timer
}
