/** Whether there is a place for one more attempt: at its endpoint, at its host, and on the node. */

import type { GateBounds } from './gate-bounds.ts'
import {
  hasOwnPlace,
  isAlone,
  isAnswering,
  isClosed,
  limitOf,
  type KnownEndpoint,
  type Share,
} from './known-endpoint.ts'
import { createRoom, createRooms } from './room.ts'

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

const mayProbe = (endpoint: KnownEndpoint, now: number, isOrdered: boolean): boolean =>
  !endpoint.breaker.isProbing() && (isOrdered || endpoint.breaker.probeInMs(now) === 0 || isAlone(endpoint, now))

/** Whether one more attempt may wait in line: not where the oldest one under way has taken longer than anyone may wait, nor where so many
 *  are ahead that no place is to be expected in that time. */
export function letsWait(endpoint: KnownEndpoint, share: Share, now: number): boolean {
  const { taken, waiting, maxWaiting, waitMs } = share
  const [oldest] = taken
  const hangs = oldest !== undefined && now - oldest.at > waitMs
  const expectedMs = ((waiting.size + 1) * endpoint.heldMs) / limitOf(endpoint, share, now)
  return !isClosed(endpoint) && !hangs && waiting.size < maxWaiting && expectedMs <= waitMs
}
