/** Connections kept per origin. undici's own pools queue requests out of sight; here the wait for a free connection
 *  lies before the attempt, so that its timer measures the endpoint and nothing else. */

import type { Dispatcher } from 'undici'

/** A connection for the use of one request. */
export interface Lease {
  dispatcher: Dispatcher
  /** Gives the connection back, exactly once; one that is not `reusable` is closed. */
  release(reusable: boolean): void
}

export interface SocketPool {
  /** A connection to an origin, kept open from an earlier request or new; waits, first come first served, while all
   *  that the origin may have are in use.
   *  @throws PoolSaturatedError when too many wait already
   *  @throws the signal's reason when it fires before, PoolClosedError when the pool is closed */
  lease(origin: string, signal?: AbortSignal): Promise<Lease>
  /** Refuses all who wait, and resolves when the connections in use are given back and all are closed. */
  close(): Promise<void>
}

export interface SocketPoolOptions {
  open: (origin: string) => Dispatcher
  /** Connections per origin, in use or idle. */
  maxSocketsPerOrigin: number
  /** Origins with open connections; beyond it the one that was idle for longest is closed. */
  maxOrigins: number
}

/** Requests that may wait for a connection to one origin. */
export const maxWaitersPerOrigin = 1000
/** How long an unused connection is kept at most; receivers mostly close it earlier. */
export const maxIdleMs = 60_000

/** Too many requests wait for this origin already. */
export class PoolSaturatedError extends Error {
  override name = 'PoolSaturatedError'
}

/** The pool takes no more requests. */
export class PoolClosedError extends Error {
  override name = 'PoolClosedError'
}

interface Waiter {
  take: (dispatcher: Dispatcher) => void
  refuse: (error: Error) => void
}

interface IdleConnection {
  dispatcher: Dispatcher
  expiry: NodeJS.Timeout
}

interface Origin {
  inUse: number
  /** Most recently used last. */
  idle: IdleConnection[]
  waiters: Set<Waiter>
}

/** A pool without connections yet. */
export const createSocketPool = (options: SocketPoolOptions): SocketPool => {
  // In order of last use.
  const origins = new Map<string, Origin>()
  let closed: { resolve: () => void; promise: Promise<void> } | undefined

  const originOf = (name: string): Origin => {
    const origin = origins.get(name) ?? { inUse: 0, idle: [], waiters: new Set<Waiter>() }
    origins.delete(name)
    origins.set(name, origin)
    if (origins.size > options.maxOrigins) closeLongestIdle()
    return origin
  }

  const closeLongestIdle = (): void => {
    for (const [name, { inUse, idle }] of origins) {
      if (inUse > 0 || idle.length === 0) continue
      for (const connection of [...idle]) closeIdle(name, connection)
      return
    }
  }

  const closeIdle = (name: string, connection: IdleConnection): void => {
    clearTimeout(connection.expiry)
    void connection.dispatcher.destroy()
    const origin = origins.get(name)
    if (origin === undefined) return
    origin.idle = origin.idle.filter((other) => other !== connection)
    forgetUnused(name, origin)
  }

  const forgetUnused = (name: string, origin: Origin): void => {
    if (origin.inUse === 0 && origin.idle.length === 0) origins.delete(name)
    if (origins.size === 0) closed?.resolve()
  }

  const release = (name: string, origin: Origin, dispatcher: Dispatcher, reusable: boolean): void => {
    if (!reusable) void dispatcher.destroy()
    const next = origin.waiters.values().next().value
    if (next) {
      next.take(reusable ? dispatcher : options.open(name))
      return
    }
    origin.inUse--
    if (reusable) keep(name, origin, dispatcher)
    forgetUnused(name, origin)
  }

  const keep = (name: string, origin: Origin, dispatcher: Dispatcher): void => {
    const connection: IdleConnection = {
      dispatcher,
      expiry: setTimeout(() => closeIdle(name, connection), maxIdleMs).unref(),
    }
    origin.idle.push(connection)
    if (closed) closeIdle(name, connection)
  }

  const leaseOf = (name: string, origin: Origin, dispatcher: Dispatcher): Lease => ({
    dispatcher,
    release: (reusable) => release(name, origin, dispatcher, reusable),
  })

  const takeFree = (name: string, origin: Origin): Dispatcher | undefined => {
    const connection = origin.idle.pop()
    if (connection === undefined && origin.inUse >= options.maxSocketsPerOrigin) return undefined
    origin.inUse++
    clearTimeout(connection?.expiry)
    return connection?.dispatcher ?? options.open(name)
  }

  const wait = (origin: Origin, signal: AbortSignal | undefined): Promise<Dispatcher> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        origin.waiters.delete(waiter)
        signal?.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter = {
        take: (dispatcher) => {
          leave()
          resolve(dispatcher)
        },
        refuse: (error) => {
          leave()
          reject(error)
        },
      }
      const onAbort = (): void => waiter.refuse(signal?.reason as Error)
      origin.waiters.add(waiter)
      signal?.addEventListener('abort', onAbort, { once: true })
    })

  return {
    async lease(name, signal) {
      signal?.throwIfAborted()
      if (closed) throw new PoolClosedError('The pool is closed.')
      const origin = originOf(name)
      const free = takeFree(name, origin)
      if (free) return leaseOf(name, origin, free)
      if (origin.waiters.size >= maxWaitersPerOrigin)
        throw new PoolSaturatedError(`Too many requests wait for ${name}.`)
      return leaseOf(name, origin, await wait(origin, signal))
    },
    close() {
      if (closed) return closed.promise
      const { promise, resolve } = withResolvers()
      closed = { promise, resolve }
      for (const [name, origin] of [...origins]) {
        for (const waiter of [...origin.waiters]) waiter.refuse(new PoolClosedError('The pool is closed.'))
        for (const connection of [...origin.idle]) closeIdle(name, connection)
      }
      if (origins.size === 0) resolve()
      return promise
    },
  }
}

const withResolvers = (): { promise: Promise<void>; resolve: () => void } => {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
