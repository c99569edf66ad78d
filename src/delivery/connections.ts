/** Connections kept per origin and time limit: a pool of undici's for each. After a standstill of this process each has a new one:
 *  meanwhile the other end may have closed what was kept, and a request that goes out before that is seen would be lost. */

import { LRUCache } from 'lru-cache'
import type { Dispatcher } from 'undici'
import { watchStandstills } from './standstills.ts'

export interface Connections {
  /** The pool of an origin, for one request.
   *  @param timeoutMs  its time limit: attempts to connect that are given up are gone soon after it, and keep no place for longer
   *  @throws OriginSaturatedError when too many wait already, ConnectionsClosedError when no more are taken, what opening a pool
   *    throws */
  use(origin: string, timeoutMs: number): Use
  /** Takes no more requests, and resolves when those under way are over and all connections are closed. */
  close(): Promise<void>
}

export interface Use {
  dispatcher: Dispatcher
  /** Whether the request has a connection at once, kept or new; if not, it waits for one inside undici. */
  isFree: boolean
  /** To be called when the request is over, exactly once. */
  done: () => void
}

export interface ConnectionsOptions {
  /** Opens a pool of at most `maxConnections` connections. */
  open: (origin: string, maxConnections: number, timeoutMs: number) => Dispatcher
  maxPerOrigin: number
  /** Most origins with open connections; beyond it the origin that was not used for longest is closed, when its requests are over. */
  maxOrigins: number
}

/** Requests that may wait for a connection to one origin: the gate lets deliveries make no more than there are connections, but
 *  syncs of audiences may go to the same host. */
export const maxWaitingPerOrigin = 1000

/** Too many requests wait for this origin already. */
export class OriginSaturatedError extends Error {
  override name = 'OriginSaturatedError'
}

/** The connections are being closed: no more requests are taken. */
export class ConnectionsClosedError extends Error {
  override name = 'ConnectionsClosedError'
}

interface Origin {
  dispatcher: Dispatcher
  inUse: number
  isRetired: boolean
  /** When the latest standstill before its opening ended. */
  openedAfter: number
}

/** The pools of all origins, none of them open yet. */
export function createConnections({ open, maxPerOrigin, maxOrigins }: ConnectionsOptions): Connections {
  const standstills = watchStandstills()
  const retired = new Set<Origin>()
  let closed: { promise: Promise<void>; resolve: () => void } | undefined

  /** Destroys the pool of an origin that no request uses. Closing it would wait long for an attempt to connect that hangs. */
  const destroyUnused = (origin: Origin): void => {
    if (!origin.isRetired || origin.inUse > 0) return
    retired.delete(origin)
    void origin.dispatcher.destroy()
    if (retired.size === 0) closed?.resolve()
  }
  const retire = (origin: Origin): void => {
    origin.isRetired = true
    retired.add(origin)
    destroyUnused(origin)
  }
  const origins = new LRUCache<string, Origin>({ max: maxOrigins, dispose: retire })

  const originOf = (name: string, timeoutMs: number): Origin => {
    const key = `${timeoutMs} ${name}`
    const known = origins.get(key)
    const openedAfter = standstills.latest()
    if (known?.openedAfter === openedAfter) return known
    const origin = { dispatcher: open(name, maxPerOrigin, timeoutMs), inUse: 0, isRetired: false, openedAfter }
    origins.set(key, origin)
    return origin
  }

  return {
    use(name, timeoutMs) {
      if (closed !== undefined) throw new ConnectionsClosedError('No more requests are taken.')
      const origin = originOf(name, timeoutMs)
      if (origin.inUse >= maxPerOrigin + maxWaitingPerOrigin)
        throw new OriginSaturatedError(`Too many requests wait for ${name}.`)
      const isFree = origin.inUse < maxPerOrigin
      origin.inUse++
      const done = (): void => {
        origin.inUse--
        destroyUnused(origin)
      }
      return { dispatcher: origin.dispatcher, isFree, done }
    },
    close() {
      if (closed !== undefined) return closed.promise
      let resolve = (): void => undefined
      const promise = new Promise<void>((done) => (resolve = done))
      closed = { promise, resolve }
      standstills.stop()
      origins.clear()
      if (retired.size === 0) resolve()
      return promise
    },
  }
}
