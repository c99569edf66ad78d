/** The circuit breaker of one endpoint: while it is down a probe now and then finds out whether it is back. */

export interface BreakerOptions {
  /** Failed attempts in a row that close it, and how long none was answered, in milliseconds. */
  maxFailures: number
  silentMs: number
  /** So few close it where attempts take so long on average, in milliseconds: each keeps a place from others meanwhile. */
  maxHanging: number
  hangsMs: number
  /** The first pause between two probes at least, in milliseconds, doubled with each that fails up to the longest. */
  firstPauseMs: number
  longestPauseMs: number
}

export interface Breaker {
  /** Since when the endpoint has not answered; undefined while the breaker is open. */
  closedSince(): Date | undefined
  /** When the next probe is due, in milliseconds from now: 0 when it is, or when the breaker is open. While one is under way it
   *  is the next one. */
  probeInMs(now: number): number
  /** Whether a probe is under way. */
  isProbing(): boolean
  beginProbe(): void
  /** The probe was not made. */
  giveProbeBack(): void
  /** An attempt was answered: opens. @returns whether it was closed */
  answered(): boolean
  /** An attempt failed.
   *  @param counts  whether it tells more than that one delivery goes on trying
   *  @param startedAt  when the attempt began, by `performance.now` as all times here
   *  @param heldMs  how long attempts take on average: no answer is missed before one could have come
   *  @returns whether the breaker is closed by it */
  failed(attempt: { isProbe: boolean; counts: boolean; startedAt: number }, heldMs: number, now: number): boolean
}

/** An open breaker. */
export function createBreaker(options: BreakerOptions): Breaker {
  const { maxFailures, silentMs, maxHanging, hangsMs, firstPauseMs, longestPauseMs } = options
  /** Failures since the last answer. */
  let failing: { count: number; since: number } | undefined
  let closed: { since: Date; pauseMs: number; probeAt: number; isProbing: boolean } | undefined

  const pauseAfterProbe = (now: number): void => {
    if (closed === undefined) return
    const pauseMs = Math.min(2 * closed.pauseMs, longestPauseMs)
    closed = { ...closed, pauseMs, probeAt: now + closed.pauseMs, isProbing: false }
  }

  const closeWhereDown = (heldMs: number, now: number): boolean => {
    const enough = heldMs >= hangsMs ? maxHanging : maxFailures
    if (failing === undefined || failing.count < enough) return false
    const quietMs = now - failing.since
    if (quietMs < silentMs + 2 * heldMs) return false
    // A probe takes as long as the attempts did: it is not made all the time.
    const pauseMs = Math.min(Math.max(firstPauseMs, heldMs), longestPauseMs)
    closed = { since: new Date(Date.now() - quietMs), pauseMs, probeAt: now, isProbing: false }
    pauseAfterProbe(now)
    return true
  }

  return {
    closedSince: () => closed?.since,
    probeInMs(now) {
      if (closed === undefined) return 0
      return closed.isProbing ? closed.pauseMs : Math.max(0, Math.ceil(closed.probeAt - now))
    },
    isProbing: () => closed?.isProbing === true,
    beginProbe() {
      if (closed !== undefined) closed.isProbing = true
    },
    giveProbeBack() {
      if (closed !== undefined) closed.isProbing = false
    },
    answered() {
      const wasClosed = closed !== undefined
      failing = undefined
      closed = undefined
      return wasClosed
    },
    failed({ isProbe, counts, startedAt }, heldMs, now) {
      // What began before it closed tells nothing new.
      if (closed !== undefined) {
        if (isProbe) pauseAfterProbe(now)
        return false
      }
      failing ??= { count: 0, since: startedAt }
      if (counts) failing.count++
      return closeWhereDown(heldMs, now)
    },
  }
}
