/** What a gate knows of one endpoint: the attempts that are under way there, and what those before have told. All times are
 *  milliseconds as `performance.now` gives them. */

import type { AttemptKind, AttemptResult, GatedEndpoint } from './admission.ts'
import { createBreaker, type Breaker } from './breaker.ts'
import type { GateBounds, ShareBounds } from './gate-bounds.ts'
import { nextAfter, restMs, type SetBounds } from './set-bounds.ts'

/** An attempt that is under way. */
export interface Attempt {
  at: number
  /** No other attempt came to the endpoint for as long as a single delivery pauses: it may be one delivery that tries again and again. */
  isAlone: boolean
  isProbe: boolean
}

/** The first attempts at an endpoint, or its retries. */
export interface Share extends ShareBounds {
  kind: AttemptKind
  /** Attempts that may be under way: each answer earns one more. */
  places: number
  /** Those that are under way, oldest first. */
  taken: Set<Attempt>
  /** Those in line, to be told whether they may look for a place. */
  waiting: Set<(looks: boolean) => void>
}

export interface KnownEndpoint extends Record<AttemptKind, Share>, SetBounds {
  id: string
  url: string
  origin: string
  hangsMs: number
  aloneMs: number
  breaker: Breaker
  /** Moving average of how long an attempt takes, in milliseconds; 0 before one was over. */
  heldMs: number
  /** Attempts that failed since the last answer; Infinity before the first one. */
  missed: number
  /** When an attempt came or was over for the last time, and when one began. */
  seenAt: number
  begunAt: number
  /** When the next request may go by the rate that is set. */
  nextAt: number
  /** Attempts that were told to come again later and have not yet, as they were counted at `at`. */
  booked: { attempts: number; at: number }
  /** When the attempt asks again that was told to be the next probe. */
  proberAt: number
}

/** Weight of the newest attempt in the average: a few show that an endpoint has recovered. */
const newestShare = 0.25

/** What an endpoint that hangs keeps of its places: few attempts show that it is back, and each costs Temporal as much as a
 *  delivery. */
const hangingShare = 0.25

/** An attempt that is under way for so long without an answer speaks against its endpoint, in milliseconds. */
const patienceMs = 500

/** After so many failures in a row an endpoint counts as one that does not answer. */
const manyMissed = 4

/** An endpoint of which nothing is known yet. */
export const newEndpoint = (
  { id, url, origin, maxPerSecond, maxConcurrent }: GatedEndpoint,
  bounds: GateBounds,
): KnownEndpoint => ({
  id,
  url,
  origin,
  maxPerSecond,
  maxConcurrent,
  hangsMs: bounds.hangsMs,
  aloneMs: bounds.aloneMs,
  breaker: createBreaker(bounds.breaker),
  first: newShare('first', bounds.first),
  retry: newShare('retry', bounds.retry),
  heldMs: 0,
  missed: Infinity,
  seenAt: -Infinity,
  begunAt: -Infinity,
  nextAt: -Infinity,
  booked: { attempts: 0, at: 0 },
  proberAt: -Infinity,
})

const newShare = (kind: AttemptKind, bounds: ShareBounds): Share => ({
  ...bounds,
  kind,
  places: bounds.start,
  taken: new Set(),
  waiting: new Set(),
})

export const isClosed = ({ breaker }: KnownEndpoint): boolean => breaker.closedSince() !== undefined

/** How long the oldest attempt is under way, in milliseconds; 0 when none is. */
export const oldestAgeMs = ({ first, retry }: KnownEndpoint, now: number): number =>
  now - Math.min(...[first, retry].map(({ taken: [attempt] }) => attempt?.at ?? now))

/** Whether the oldest attempt under way takes much longer than attempts at the endpoint used to. */
const isSilent = (endpoint: KnownEndpoint, now: number): boolean =>
  oldestAgeMs(endpoint, now) > Math.max(patienceMs, 2 * endpoint.heldMs)

/** Whether no attempt was answered yet, or lately, in the time that an attempt has. */
export const isHanging = ({ heldMs, hangsMs, missed }: KnownEndpoint): boolean =>
  missed >= manyMissed && heldMs >= hangsMs

/** Whether attempts come back with answers; false where nothing is known yet. */
export const isAnswering = (endpoint: KnownEndpoint, now: number): boolean =>
  endpoint.missed < manyMissed && endpoint.heldMs < endpoint.hangsMs && !isSilent(endpoint, now)

/** Whether no attempt was answered yet, or lately, and those under way take longer than they should. */
export const isUnheard = (endpoint: KnownEndpoint, now: number): boolean =>
  endpoint.missed >= manyMissed && (isSilent(endpoint, now) || (isHanging(endpoint) && oldestAgeMs(endpoint, now) > 0))

/** Whether an attempt that came now would be of one delivery that goes on trying alone, as far as is known. */
export const isAlone = ({ first, retry, seenAt, aloneMs }: KnownEndpoint, now: number): boolean =>
  first.taken.size + retry.taken.size + first.waiting.size === 0 && now - seenAt >= aloneMs

/** How many attempts may be under way now. */
export const limitOf = (endpoint: KnownEndpoint, share: Share, now: number): number =>
  Math.min(earnedLimit(endpoint, share, now), endpoint.maxConcurrent ?? Infinity)

function earnedLimit(endpoint: KnownEndpoint, share: Share, now: number): number {
  const silent = isSilent(endpoint, now)
  if (endpoint.heldMs >= endpoint.hangsMs || (silent && endpoint.missed >= manyMissed))
    return Math.min(share.places, hangingLimit(share))
  return silent ? Math.min(share.places, share.start) : share.places
}

/** How many attempts may be under way at an endpoint that hangs. */
export const hangingLimit = ({ start }: ShareBounds): number => Math.max(1, Math.floor(start * hangingShare))

/** How many attempts are under way. */
export const underWay = ({ first, retry }: KnownEndpoint): number => first.taken.size + retry.taken.size

/** Whether the bounds that are set let one more attempt begin. */
export const isWithinBounds = (endpoint: KnownEndpoint, now: number): boolean =>
  underWay(endpoint) < (endpoint.maxConcurrent ?? Infinity) && restMs(endpoint, now) === 0

/** Whether the endpoint itself has a place for one more. */
export const hasOwnPlace = (endpoint: KnownEndpoint, share: Share, now: number): boolean =>
  share.taken.size < limitOf(endpoint, share, now) && isWithinBounds(endpoint, now)

/** Notes that an attempt begins. */
export function noteBegin(endpoint: KnownEndpoint, now: number): void {
  endpoint.begunAt = now
  endpoint.nextAt = nextAfter(endpoint, now)
}

/** Notes what an attempt told that is over now. */
export function learn(endpoint: KnownEndpoint, attempt: Attempt, result: AttemptResult, now: number): void {
  endpoint.seenAt = now
  if (result === 'unused') {
    if (attempt.isProbe) endpoint.breaker.giveProbeBack()
    return
  }
  endpoint.heldMs += (now - attempt.at - endpoint.heldMs) * (endpoint.heldMs === 0 ? 1 : newestShare)
  if (result === 'answered') learnAnswer(endpoint, now - attempt.at)
  else learnFailure(endpoint, attempt, now)
}

function learnAnswer(endpoint: KnownEndpoint, tookMs: number): void {
  endpoint.missed = 0
  if (endpoint.breaker.answered()) return beginAnew(endpoint, tookMs)
  for (const share of [endpoint.first, endpoint.retry]) share.places = Math.min(share.places + 1, share.most)
}

/** An endpoint that was down is back: from one place on, and at the pace of its answer. How long attempts took while it was down, and how
 *  many were sent away then, tells nothing of it any more. */
function beginAnew(endpoint: KnownEndpoint, tookMs: number): void {
  endpoint.heldMs = tookMs
  endpoint.booked = { attempts: 0, at: 0 }
  for (const share of [endpoint.first, endpoint.retry]) share.places = 1
}

function learnFailure(endpoint: KnownEndpoint, { isProbe, isAlone, at }: Attempt, now: number): void {
  endpoint.missed++
  for (const share of [endpoint.first, endpoint.retry])
    if (share.places > share.start) share.places = Math.max(share.start, Math.floor(share.places / 2))
  endpoint.breaker.failed({ isProbe, counts: !isAlone, startedAt: at }, endpoint.heldMs, now)
}
