/** When an attempt that finds no place may come again: one after the other, at the pace of the endpoint. */

import { keptAwayReason } from '../contracts/kept-away.ts'
import type { TurnedAway } from './admission.ts'
import {
  hangingLimit,
  hasOwnPlace,
  isClosed,
  isWithinBounds,
  limitOf,
  oldestAgeMs,
  underWay,
  type KnownEndpoint,
  type Share,
} from './known-endpoint.ts'
import { boundsText, intervalMs, isBounded, restMs } from './set-bounds.ts'

/** Attempts that wait for endpoints that are down ask again one after the other, so far apart in all, in milliseconds, and those of one
 *  endpoint so far at most: all but the probe ask in vain, and each time costs Temporal as much as an attempt. */
const downPaceMs = 50
const longestDownPaceMs = 2_000

/** How long an attempt stays away when all places that endpoints share are taken, in milliseconds. */
const crowdedMs = 500

/** Attempts that were told to come again, and have not come for so long after their time, in milliseconds, are waited for no longer. */
const lateMs = 1_000

/** More attempts than go in such a time are not let pass by those that were turned away before them, in milliseconds. */
const aheadMs = 500

export interface TurningAway {
  /** Tells one more attempt when it may come again, and why not now.
   *  @param attempts  how many are turned away with it; they come together */
  turnAway: (endpoint: KnownEndpoint, share: Share, now: number, attempts?: number) => TurnedAway
}

/** @param maxAwayMs  longest time that an attempt is told to stay away, in milliseconds
 *  @param countDown  how many endpoints are down */
export function createTurningAway(maxAwayMs: number, countDown: () => number): TurningAway {
  /** Counts attempts that are sent away together.
   *  @param pace  milliseconds between two attempts that come back
   *  @returns when they may come back, in milliseconds from now: after those that were sent away before them */
  const book = (endpoint: KnownEndpoint, pace: number, now: number, attempts = 1): number => {
    const ahead = bookedNow(endpoint, pace, now)
    const most = maxAwayMs / pace
    endpoint.booked = { attempts: Math.min(ahead + attempts, most), at: now }
    return Math.ceil(Math.min(ahead + 1, most) * pace)
  }

  const inMsWhileFull = (endpoint: KnownEndpoint, share: Share, now: number, attempts: number): number => {
    const bookedMs = book(endpoint, paceMs(endpoint, now), now, attempts)
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
    turnAway(endpoint, share, now, attempts = 1) {
      const since = endpoint.breaker.closedSince()
      if (since === undefined) {
        const isPaced = !isWithinBounds(endpoint, now) || isBehind(endpoint, now)
        const inMs = inMsWhileFull(endpoint, share, now, attempts)
        return isPaced ? { ...later(inMs, boundsText(endpoint)), isPaced } : later(inMs, 'endpoint saturated')
      }
      const probeInMs = endpoint.breaker.probeInMs(now)
      const reason = keptAwayReason(since, new Date(Date.now() + probeInMs))
      return later(Math.max(inMsWhileDown(endpoint, probeInMs, now), Math.ceil(restMs(endpoint, now))), reason)
    },
  }
}

/** Attempts that are to come back, of those that were sent away. */
const bookedNow = ({ booked: { attempts, at } }: KnownEndpoint, pace: number, now: number): number =>
  Math.max(0, attempts - (now - at) / pace)

/** Whether so many attempts that were turned away by the bounds of the endpoint come back soon that none is let in before them; not where
 *  they do not come. */
export function isBehind(endpoint: KnownEndpoint, now: number): boolean {
  if (!isBounded(endpoint) || isClosed(endpoint)) return false
  const pace = paceMs(endpoint, now)
  const isUsed = underWay(endpoint) > 0 || now - endpoint.begunAt < lateMs + pace
  return isUsed && bookedNow(endpoint, pace, now) * pace > Math.max(aheadMs, pace)
}

/** How much time passes until the endpoint has a place for one more retry, in milliseconds. An endpoint that keeps a place much longer
 *  than it used to seems to hang: then the estimate is longer, as an attempt that asks too early is sent away once more. */
function paceMs(endpoint: KnownEndpoint, now: number): number {
  const { retry, heldMs, hangsMs } = endpoint
  const ageMs = oldestAgeMs(endpoint, now)
  const placesMs =
    ageMs > Math.max(hangsMs / 2, 2 * heldMs)
      ? Math.max(ageMs, hangsMs) / Math.min(hangingLimit(retry), limitOf(endpoint, retry, now))
      : Math.max(ageMs, heldMs, 1) / limitOf(endpoint, retry, now)
  return Math.max(placesMs, intervalMs(endpoint))
}
