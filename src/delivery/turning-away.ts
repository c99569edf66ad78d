/** When an attempt that finds no place may come again: one after the other, at the pace of the endpoint. */

import { keptAwayReason } from '../contracts/kept-away.ts'
import type { TurnedAway } from './admission.ts'
import { hangingLimit, hasOwnPlace, limitOf, oldestAgeMs, type KnownEndpoint, type Share } from './known-endpoint.ts'

/** Attempts that wait for endpoints that are down ask again one after the other, so far apart in all, in milliseconds, and those of one
 *  endpoint so far at most: all but the probe ask in vain, and each time costs Temporal as much as an attempt. */
const downPaceMs = 50
const longestDownPaceMs = 2_000

/** How long an attempt stays away when all places that endpoints share are taken, in milliseconds. */
const crowdedMs = 500

export interface TurningAway {
  /** Tells one more attempt when it may come again, and why not now. */
  turnAway: (endpoint: KnownEndpoint, share: Share, now: number) => TurnedAway
}

/** @param maxAwayMs  longest time that an attempt is told to stay away, in milliseconds
 *  @param countDown  how many endpoints are down */
export function createTurningAway(maxAwayMs: number, countDown: () => number): TurningAway {
  /** Counts one more attempt that is sent away.
   *  @param pace  milliseconds between two attempts that come back
   *  @returns when it may come back, in milliseconds from now: after those that were sent away before it */
  const book = (endpoint: KnownEndpoint, pace: number, now: number): number => {
    const ahead = Math.max(0, endpoint.booked.attempts - (now - endpoint.booked.at) / pace)
    const attempts = Math.min(ahead + 1, maxAwayMs / pace)
    endpoint.booked = { attempts, at: now }
    return Math.ceil(attempts * pace)
  }

  const inMsWhileFull = (endpoint: KnownEndpoint, share: Share, now: number): number => {
    const bookedMs = book(endpoint, paceMs(endpoint, now), now)
    return hasOwnPlace(endpoint, share, now) ? Math.max(bookedMs, crowdedMs) : bookedMs
  }

  /** One asks again when the next probe is due, the others behind it. */
  const inMsWhileDown = (endpoint: KnownEndpoint, probeInMs: number, now: number): number => {
    if (endpoint.proberAt < now) {
      endpoint.proberAt = now + probeInMs
      return probeInMs
    }
    return probeInMs + book(endpoint, Math.min(downPaceMs * Math.max(1, countDown()), longestDownPaceMs), now)
  }

  const later = (inMs: number, reason: string): TurnedAway => ({
    kind: 'later',
    inMs: Math.min(inMs, maxAwayMs),
    reason: `not attempted: ${reason}`,
  })

  return {
    turnAway(endpoint, share, now) {
      const since = endpoint.breaker.closedSince()
      if (since === undefined) return later(inMsWhileFull(endpoint, share, now), 'endpoint saturated')
      const probeInMs = endpoint.breaker.probeInMs(now)
      const reason = keptAwayReason(since, new Date(Date.now() + probeInMs))
      return later(inMsWhileDown(endpoint, probeInMs, now), reason)
    },
  }
}

/** How much time passes until the endpoint has a place for one more retry, in milliseconds. An endpoint that keeps a place much longer
 *  than it used to seems to hang: then the estimate is longer, as an attempt that asks too early is sent away once more. */
function paceMs(endpoint: KnownEndpoint, now: number): number {
  const { retry, heldMs, hangsMs } = endpoint
  const ageMs = oldestAgeMs(endpoint, now)
  return ageMs > Math.max(hangsMs / 2, 2 * heldMs)
    ? Math.max(ageMs, hangsMs) / hangingLimit(retry)
    : Math.max(ageMs, heldMs, 1) / limitOf(endpoint, retry, now)
}
