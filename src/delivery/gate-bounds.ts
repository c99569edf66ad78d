/** The bounds of a node's gate, and why they are what they are. */

import type { RetrySchedule } from '../contracts/delivery.ts'
import { shortestPauseMs } from '../contracts/retry-delay.ts'
import type { BreakerOptions } from './breaker.ts'

/** Attempts that may wait in line at one endpoint, and how long each may, in milliseconds; none waits where no place is to be
 *  expected in that time. */
export interface LineBounds {
  maxWaiting: number
  waitMs: number
}

/** Bounds of the first attempts, or of the retries. */
export interface ShareBounds extends LineBounds {
  /** Attempts that an endpoint may have under way when nothing is known of it; a quarter of them while it hangs, it seems. */
  start: number
  /** Attempts that an endpoint may have under way once it has answered enough of them. */
  most: number
  /** Attempts that all endpoints may have together, those that wait in line included. */
  inAll: number
}

export interface GateBounds {
  first: ShareBounds
  retry: ShareBounds
  /** Attempts to one origin, of all its endpoints. */
  perOrigin: number
  /** An endpoint hangs when attempts take so long on average, in milliseconds. */
  hangsMs: number
  /** Longest time that an attempt is told to stay away, in milliseconds, however many were told so before it: an endpoint that
   *  has recovered must not wait for those that were sent away. */
  maxAwayMs: number
  /** One delivery that goes on trying leaves so much time between two attempts at least, in milliseconds. */
  aloneMs: number
  breaker: BreakerOptions
}

/** First attempts are local activities, of which a worker has 400, and those that wait in line hold one too. An endpoint that is
 *  new gets few, until it has shown that it answers. */
const first: ShareBounds = { start: 8, most: 64, inAll: 320, maxWaiting: 64, waitMs: 500 }

/** Retries are activities, of which a worker has 200. Temporal keeps those that find no place, so nobody waits here. */
const retries: ShareBounds = { start: 32, most: 64, inAll: 160, maxWaiting: 0, waitMs: 0 }

/** Sockets that one host is used with. */
export const socketsPerOrigin = 128

/** An average of so long, in milliseconds, means that most attempts end by the usual time limit of 5 s. It is the same for endpoints that
 *  are given longer: while they use it, they keep places from others as those do that hang. */
const hangsMs = 4_000

/** @param retry  how deliveries pause between two attempts */
export const gateBounds = (retry: RetrySchedule): GateBounds => ({
  first,
  retry: retries,
  perOrigin: socketsPerOrigin,
  hangsMs,
  maxAwayMs: retry.maxMs,
  aloneMs: shortestPauseMs(retry),
  breaker: {
    maxFailures: 20,
    silentMs: 1_000,
    maxHanging: 4,
    hangsMs,
    firstPauseMs: 100,
    longestPauseMs: Math.min(10_000, retry.maxMs),
  },
})
