/** Whether there is a place for one more attempt: at its endpoint, at its host, and on the node. */

import type { GateBounds, LineBounds } from './gate-bounds.ts'
import {
  hasOwnPlace,
  isAlone,
  isAnswering,
  isClosed,
  isWithinBounds,
  limitOf,
  type KnownEndpoint,
  type Share,
} from './known-endpoint.ts'
import { createRoom, createRooms } from './room.ts'
import { intervalMs, isBounded, restMs } from './set-bounds.ts'
import { isBehind } from './turning-away.ts'

export interface Places {
  /** Whether the node has a place for one more attempt, made or in line. */
  hasRoom: (endpoint: KnownEndpoint, share: Share, now: number) => boolean
  /** Whether endpoint and host have a place now, without regard to those that wait in line.
   *  @param isOrdered  whether an operator ordered the attempt */
  fits: (endpoint: KnownEndpoint, share: Share, now: number, isOrdered?: boolean) => boolean
  /** Takes a place of the host and one of the node. @returns what gives them back, to be called once */
  take: (endpoint: KnownEndpoint, share: Share) => () => void
  /** Takes a place of the node for an attempt that waits in line. @returns what gives it back, to be called once */
  takeInLine: (share: Share) => () => void
}

/** Nothing is taken. */
export function createPlaces({ perOrigin, first, retry }: GateBounds): Places {
  const hosts = createRooms(perOrigin)
  const rooms = { first: createRoom(first.inAll), retry: createRoom(retry.inAll) }
  const takeInLine = ({ kind }: Share): (() => void) => {
    rooms[kind].take()
    return () => rooms[kind].giveBack()
  }

  return {
    hasRoom: (endpoint, { kind, taken, waiting }, now) =>
      rooms[kind].hasPlace(taken.size + waiting.size, isAnswering(endpoint, now)),
    fits: (endpoint, share, now, isOrdered = false) =>
      (isClosed(endpoint) ? mayProbe(endpoint, now, isOrdered) : hasOwnPlace(endpoint, share, now)) &&
      !givesWay(endpoint, share, now) &&
      hosts.hasPlace(endpoint.origin, share.taken.size, isAnswering(endpoint, now)),
    take({ origin }, share) {
      hosts.take(origin)
      const leaveNode = takeInLine(share)
      return () => {
        leaveNode()
        hosts.giveBack(origin)
      }
    },
    takeInLine,
  }
}

/** What comes for the first time goes behind what was turned away before. */
const givesWay = (endpoint: KnownEndpoint, { kind }: Share, now: number): boolean =>
  kind === 'first' && isBehind(endpoint, now)

const mayProbe = (endpoint: KnownEndpoint, now: number, isOrdered: boolean): boolean =>
  isWithinBounds(endpoint, now) &&
  !endpoint.breaker.isProbing() &&
  (isOrdered || endpoint.breaker.probeInMs(now) === 0 || isAlone(endpoint, now))

/** Whether one more attempt may wait in line: not where the oldest one under way has taken longer than anyone may wait, nor where so many
 *  are ahead that no place is to be expected in that time. */
export function letsWait(endpoint: KnownEndpoint, share: Share, now: number): boolean {
  const { first, retry, heldMs } = endpoint
  const { taken, waiting } = share
  const { maxWaiting, waitMs } = lineOf(endpoint, share)
  const [oldest] = taken
  const hangs = oldest !== undefined && now - oldest.at > waitMs
  const ahead = isBounded(endpoint) ? first.waiting.size + retry.waiting.size : waiting.size
  const expectedMs = Math.max(
    ((ahead + 1) * heldMs) / limitOf(endpoint, share, now),
    restMs(endpoint, now) + ahead * intervalMs(endpoint),
  )
  const isLong = hangs || waiting.size >= maxWaiting || expectedMs > waitMs
  return !isClosed(endpoint) && !isLong && !givesWay(endpoint, share, now)
}

/** Where bounds are set, a few retries wait too: each would come in vain again and again otherwise. One waits for as long as it takes until the
 *  next may go. */
const boundedLine: LineBounds = { maxWaiting: 16, waitMs: 500 }

export const lineOf = (endpoint: KnownEndpoint, { maxWaiting, waitMs }: Share): LineBounds =>
  isBounded(endpoint)
    ? {
        maxWaiting: Math.max(maxWaiting, boundedLine.maxWaiting),
        waitMs: Math.max(waitMs, boundedLine.waitMs, intervalMs(endpoint)),
      }
    : { maxWaiting, waitMs }
