/** Decides whether an attempt may go now: bounds what is under way to one endpoint, to one host and in all, and keeps
 *  attempts from an endpoint that is down. It knows nothing of events, and does nothing by itself. */

import { LRUCache } from 'lru-cache'
import { createBreaker, type Breaker } from './breaker.ts'
import type { GateBounds, ShareBounds } from './gate-bounds.ts'
import { createRoom, createRooms, type Room } from './room.ts'

/** First attempts and retries have places of their own: neither keeps the other from an endpoint. */
export type AttemptKind = 'first' | 'retry'

export interface GatedEndpoint {
  id: string
  url: string
  /** Scheme, host and port: the sockets that it uses. */
  origin: string
}

/** What an attempt told of its endpoint.
 *  `answered`: any answer of an endpoint that works, also one that refuses the message for good; `failed`: an answer that may
 *  pass, or none; `unused`: nothing was sent. */
export type AttemptResult = 'answered' | 'failed' | 'unused'

/** The answer of the gate. `go`: the attempt may be made, and whoever makes it calls `leave` when it is over; further calls do nothing.
 *  `later`: the attempt must not be made now; it may ask again in `inMs` milliseconds. The reason is in words for the operator. */
export type Admission =
  { kind: 'go'; leave: (result: AttemptResult) => void } | { kind: 'later'; inMs: number; reason: string }

export interface Gate {
  /** Asks for an attempt. The answer comes at once where there is a place, or none is to be expected soon; otherwise a first attempt
   *  waits in line for one, first come, first served.
   *  @param isOrdered  whether an operator ordered the attempt: an endpoint that is down gets it although no probe is due */
  admit(endpoint: GatedEndpoint, kind: AttemptKind, isOrdered?: boolean): Admission | Promise<Admission>
  /** Forgets what is known of the endpoint where that was at another address: it tells nothing of this one. An admission does so
   *  by itself. */
  forgetMoved(endpoint: GatedEndpoint): void
  /** Whether a first attempt would be turned away now. */
  isShut(endpointId: string): boolean
  /** Whether attempts at the endpoint come back with answers; false where nothing is known yet. */
  isAnswering(endpointId: string): boolean
  /** Whether no attempt at the endpoint was answered yet, or lately, and those under way take longer than they should. */
  isUnheard(endpointId: string): boolean
  /** Whether no attempt at the endpoint was answered yet, or lately, in the time that an attempt has. */
  isHanging(endpointId: string): boolean
  /** When an attempt may find out whether an endpoint that is down is back, in milliseconds from now; 0 when it is not down, or
   *  a probe is due. */
  probeInMs(endpointId: string): number
  /** Since when an endpoint is down; undefined when it is not. */
  closedSince(endpointId: string): Date | undefined
  /** Endpoints that are down, since when, and when a probe is due as `probeInMs` says. */
  down(): { endpointId: string; since: Date; probeInMs: number }[]
}

/** An endpoint as the gate knows it. */
export const gatedEndpoint = ({ id, url }: { id: string; url: string }): GatedEndpoint => ({
  id,
  url,
  origin: URL.canParse(url) ? new URL(url).origin : url,
})

interface Attempt {
  at: number
  /** No other attempt came to the endpoint for as long as a single delivery pauses: it may be one delivery that tries again and again. */
  isAlone: boolean
  isProbe: boolean
}

/** The first attempts at an endpoint, or its retries. */
interface Share extends ShareBounds {
  /** Attempts that may be under way: each answer earns one more. */
  places: number
  /** Those that are under way, oldest first. */
  taken: Set<Attempt>
  /** Those in line, to be told whether they may look for a place. */
  waiting: Set<(looks: boolean) => void>
  room: Room
}

interface Endpoint extends Record<AttemptKind, Share> {
  id: string
  url: string
  origin: string
  breaker: Breaker
  /** Moving average of how long an attempt takes, in milliseconds; 0 before one was over. */
  heldMs: number
  /** Attempts that failed since the last answer; Infinity before the first one. */
  missed: number
  /** When an attempt came or was over for the last time. */
  seenAt: number
  /** Attempts that were told to come again later and have not yet, as they were counted at `at`. */
  booked: { attempts: number; at: number }
  /** When the attempt asks again that was told to be the next probe. */
  proberAt: number
}

/** Endpoints of which something is remembered; a few hundred bytes each. */
const maxRemembered = 5_000

/** Weight of the newest attempt in the average: a few show that an endpoint has recovered. */
const newestShare = 0.25

/** What an endpoint that hangs keeps of its places: few attempts show that it is back, and each costs Temporal as much as a
 *  delivery. */
const hangingShare = 0.25

/** An attempt that is under way for so long without an answer speaks against its endpoint, in milliseconds. */
const patienceMs = 500

/** After so many failures in a row an endpoint counts as one that does not answer. */
const manyMissed = 4

/** Attempts that wait for endpoints that are down ask again one after the other, so far apart in all, in milliseconds, and those of one
 *  endpoint so far at most: all but the probe ask in vain, and each time costs Temporal as much as an attempt. */
const closedPaceMs = 50
const longestClosedPaceMs = 2_000

/** How long an attempt stays away when all places that endpoints share are taken, in milliseconds. */
const crowdedMs = 500

/** A gate that nobody has passed. */
export function createGate({ first, retry, ...bounds }: GateBounds): Gate {
  const { hangsMs, maxAwayMs, aloneMs } = bounds
  /** Endpoints that are down. */
  const closed = new Set<string>()
  const endpoints = new LRUCache<string, Endpoint>({ max: maxRemembered, dispose: (_, id) => closed.delete(id) })
  const hosts = createRooms(bounds.perOrigin)
  const rooms = { first: createRoom(first.inAll), retry: createRoom(retry.inAll) }
  /** The lines that are not empty, and the endpoint of each. */
  const lines = new Map<Share, Endpoint>()

  const forgetMoved = ({ id, url }: GatedEndpoint): void => {
    const known = endpoints.peek(id)
    if (known !== undefined && known.url !== url) endpoints.delete(id)
  }

  const endpointOf = (gated: GatedEndpoint): Endpoint => {
    forgetMoved(gated)
    const { id, url, origin } = gated
    const known = endpoints.get(id)
    if (known !== undefined) return known
    const endpoint: Endpoint = {
      id,
      url,
      origin,
      breaker: createBreaker(bounds.breaker),
      first: createShare(first, rooms.first),
      retry: createShare(retry, rooms.retry),
      heldMs: 0,
      missed: Infinity,
      seenAt: -Infinity,
      booked: { attempts: 0, at: 0 },
      proberAt: -Infinity,
    }
    endpoints.set(id, endpoint)
    return endpoint
  }

  /** Whether the oldest attempt under way takes much longer than attempts at the endpoint used to. */
  const isSilent = (endpoint: Endpoint, now: number): boolean =>
    oldestAgeMs(endpoint, now) > Math.max(patienceMs, 2 * endpoint.heldMs)

  const isHanging = ({ heldMs, missed }: Endpoint): boolean => missed >= manyMissed && heldMs >= hangsMs

  const isAnswering = (endpoint: Endpoint, now: number): boolean =>
    endpoint.missed < manyMissed && endpoint.heldMs < hangsMs && !isSilent(endpoint, now)

  const isAlone = ({ first, retry, seenAt }: Endpoint, now: number): boolean =>
    first.taken.size + retry.taken.size + first.waiting.size === 0 && now - seenAt >= aloneMs

  const limitOf = (endpoint: Endpoint, share: Share, now: number): number => {
    const silent = isSilent(endpoint, now)
    if (endpoint.heldMs >= hangsMs || (silent && endpoint.missed >= manyMissed))
      return Math.min(share.places, hangingLimit(share))
    return silent ? Math.min(share.places, share.start) : share.places
  }

  const hasOwnPlace = (endpoint: Endpoint, share: Share, now: number): boolean =>
    share.taken.size < limitOf(endpoint, share, now)

  const hasPlaceAtHost = (endpoint: Endpoint, share: Share, now: number): boolean =>
    hosts.hasPlace(endpoint.origin, share.taken.size, isAnswering(endpoint, now))

  const hasPlaceInRoom = (endpoint: Endpoint, { taken, waiting, room }: Share, now: number): boolean =>
    room.hasPlace(taken.size + waiting.size, isAnswering(endpoint, now))

  const mayProbe = (endpoint: Endpoint, now: number, isOrdered: boolean): boolean =>
    !endpoint.breaker.isProbing() && (isOrdered || endpoint.breaker.probeInMs(now) === 0 || isAlone(endpoint, now))

  /** Whether there is a place for an attempt now, without regard to those that wait in line. */
  const fits = (endpoint: Endpoint, share: Share, now: number, isOrdered = false): boolean =>
    (isClosed(endpoint) ? mayProbe(endpoint, now, isOrdered) : hasOwnPlace(endpoint, share, now)) &&
    hasPlaceAtHost(endpoint, share, now)

  /** Whether one more attempt may wait in line: not where the oldest one under way has taken longer than anyone may wait, nor where so many
   *  are ahead that no place is to be expected in that time. */
  const letsWait = (endpoint: Endpoint, share: Share, now: number): boolean => {
    const { taken, waiting, maxWaiting, waitMs } = share
    const [oldest] = taken
    const hangs = oldest !== undefined && now - oldest.at > waitMs
    const expectedMs = ((waiting.size + 1) * endpoint.heldMs) / limitOf(endpoint, share, now)
    return !isClosed(endpoint) && !hangs && waiting.size < maxWaiting && expectedMs <= waitMs
  }

  /** How much time passes until the endpoint has a place for one more retry, in milliseconds. An endpoint that keeps a place much longer
   *  than it used to seems to hang: then the estimate is longer, as an attempt that asks too early is sent away once more. */
  const paceMs = (endpoint: Endpoint, now: number): number => {
    const { retry, heldMs } = endpoint
    const ageMs = oldestAgeMs(endpoint, now)
    return ageMs > Math.max(hangsMs / 2, 2 * heldMs)
      ? Math.max(ageMs, hangsMs) / hangingLimit(retry)
      : Math.max(ageMs, heldMs, 1) / limitOf(endpoint, retry, now)
  }

  /** Counts one more attempt that is sent away.
   *  @param pace  milliseconds between two attempts that come back
   *  @returns when it may come back, in milliseconds from now: after those that were sent away before it */
  const book = (endpoint: Endpoint, pace: number, now: number): number => {
    const ahead = Math.max(0, endpoint.booked.attempts - (now - endpoint.booked.at) / pace)
    const attempts = Math.min(ahead + 1, maxAwayMs / pace)
    endpoint.booked = { attempts, at: now }
    return Math.ceil(attempts * pace)
  }

  const turnAway = (endpoint: Endpoint, share: Share, now: number): Admission => {
    const since = endpoint.breaker.closedSince()
    if (since === undefined) {
      const bookedMs = book(endpoint, paceMs(endpoint, now), now)
      const inMs = hasOwnPlace(endpoint, share, now) ? Math.max(bookedMs, crowdedMs) : bookedMs
      return { kind: 'later', inMs: Math.min(inMs, maxAwayMs), reason: 'not attempted: endpoint saturated' }
    }
    const probeInMs = endpoint.breaker.probeInMs(now)
    const probeAt = new Date(Date.now() + probeInMs).toISOString()
    return {
      kind: 'later',
      inMs: Math.min(inMsWhileDown(endpoint, probeInMs, now), maxAwayMs),
      reason: `not attempted: the endpoint is down since ${since.toISOString()}, next probe at ${probeAt}`,
    }
  }

  /** How long an attempt stays away from an endpoint that is down: one asks again when the next probe is due, the others behind it. */
  const inMsWhileDown = (endpoint: Endpoint, probeInMs: number, now: number): number => {
    if (endpoint.proberAt < now) {
      endpoint.proberAt = now + probeInMs
      return probeInMs
    }
    const pace = Math.min(closedPaceMs * Math.max(1, closed.size), longestClosedPaceMs)
    return probeInMs + book(endpoint, pace, now)
  }

  const dissolveLine = ({ first: { waiting } }: Endpoint): void => {
    for (const serve of [...waiting]) serve(false)
  }

  /** What an attempt that was made tells of its endpoint. */
  const learn = (endpoint: Endpoint, attempt: Attempt, result: AttemptResult, now: number): void => {
    endpoint.heldMs += (now - attempt.at - endpoint.heldMs) * (endpoint.heldMs === 0 ? 1 : newestShare)
    const shares = [endpoint.first, endpoint.retry]
    if (result === 'answered') {
      endpoint.missed = 0
      closed.delete(endpoint.id)
      // From one place on, where it was down.
      if (endpoint.breaker.answered()) for (const share of shares) share.places = 1
      else for (const share of shares) share.places = Math.min(share.places + 1, share.most)
      return
    }
    endpoint.missed++
    for (const share of shares)
      if (share.places > share.start) share.places = Math.max(share.start, Math.floor(share.places / 2))
    const { isProbe, isAlone, at } = attempt
    const failure = { isProbe, counts: !isAlone, startedAt: at }
    if (!endpoint.breaker.failed(failure, endpoint.heldMs, now)) return
    closed.add(endpoint.id)
    dissolveLine(endpoint)
  }

  const serveLines = (): void => {
    for (const [share, endpoint] of lines)
      for (const serve of share.waiting) {
        if (!fits(endpoint, share, performance.now())) break
        serve(true)
      }
  }

  const enter = (endpoint: Endpoint, share: Share, now: number): Admission => {
    const isProbe = isClosed(endpoint)
    const attempt: Attempt = { at: now, isAlone: isAlone(endpoint, now), isProbe }
    if (isProbe) endpoint.breaker.beginProbe()
    share.taken.add(attempt)
    share.room.take()
    hosts.take(endpoint.origin)
    return {
      kind: 'go',
      leave(result) {
        if (!share.taken.delete(attempt)) return
        share.room.giveBack()
        hosts.giveBack(endpoint.origin)
        const now = performance.now()
        endpoint.seenAt = now
        if (result !== 'unused') learn(endpoint, attempt, result, now)
        else if (isProbe) endpoint.breaker.giveProbeBack()
        serveLines()
      },
    }
  }

  const wait = (endpoint: Endpoint, share: Share): Promise<Admission> =>
    new Promise((resolve) => {
      const serve = (looks: boolean): void => {
        clearTimeout(timer)
        share.waiting.delete(serve)
        if (share.waiting.size === 0) lines.delete(share)
        share.room.giveBack()
        const now = performance.now()
        resolve(looks ? enter(endpoint, share, now) : turnAway(endpoint, share, now))
      }
      const timer = setTimeout(serve, share.waitMs, false)
      share.waiting.add(serve)
      share.room.take()
      lines.set(share, endpoint)
    })

  return {
    forgetMoved,
    admit(gated, kind, isOrdered = false) {
      const endpoint = endpointOf(gated)
      const share = endpoint[kind]
      const now = performance.now()
      const hasPlace = hasPlaceInRoom(endpoint, share, now)
      try {
        if (hasPlace && fits(endpoint, share, now, isOrdered)) return enter(endpoint, share, now)
        return hasPlace && letsWait(endpoint, share, now) ? wait(endpoint, share) : turnAway(endpoint, share, now)
      } finally {
        endpoint.seenAt = now
      }
    },
    isShut(endpointId) {
      const endpoint = endpoints.peek(endpointId)
      if (endpoint === undefined) return false
      const { first } = endpoint
      const now = performance.now()
      const hasPlace = hasPlaceInRoom(endpoint, first, now)
      return !hasPlace || !(fits(endpoint, first, now) || letsWait(endpoint, first, now))
    },
    isAnswering(endpointId) {
      const endpoint = endpoints.peek(endpointId)
      return endpoint !== undefined && !isClosed(endpoint) && isAnswering(endpoint, performance.now())
    },
    isUnheard(endpointId) {
      const endpoint = endpoints.peek(endpointId)
      if (endpoint === undefined || endpoint.missed < manyMissed) return false
      const now = performance.now()
      return isSilent(endpoint, now) || (isHanging(endpoint) && oldestAgeMs(endpoint, now) > 0)
    },
    isHanging(endpointId) {
      const endpoint = endpoints.peek(endpointId)
      return endpoint !== undefined && isHanging(endpoint)
    },
    probeInMs: (endpointId) => endpoints.peek(endpointId)?.breaker.probeInMs(performance.now()) ?? 0,
    closedSince: (endpointId) => endpoints.peek(endpointId)?.breaker.closedSince(),
    down: () =>
      [...endpoints.entries()].flatMap(([endpointId, { breaker }]) => {
        const since = breaker.closedSince()
        return since === undefined ? [] : [{ endpointId, since, probeInMs: breaker.probeInMs(performance.now()) }]
      }),
  }
}

const createShare = (bounds: ShareBounds, room: Room): Share => ({
  ...bounds,
  places: bounds.start,
  taken: new Set(),
  waiting: new Set(),
  room,
})

const isClosed = ({ breaker }: Endpoint): boolean => breaker.closedSince() !== undefined

/** How long the oldest attempt is under way, in milliseconds; 0 when none is. */
const oldestAgeMs = ({ first, retry }: Endpoint, now: number): number =>
  now - Math.min(...[first, retry].map(({ taken: [attempt] }) => attempt?.at ?? now))

const hangingLimit = ({ start }: ShareBounds): number => Math.max(1, Math.floor(start * hangingShare))
