/** Connections kept per origin. undici's own pools queue requests out of sight; here the wait for a free connection
 *  lies before the attempt, so that its timer measures the endpoint and nothing else. */

import type { Dispatcher } from 'undici'

/** A connection for the use of one request. */
export interface Lease {
  dispatcher: Dispatcher
  /** Gives the connection back, exactly once; one that is not `reusable` is closed. */
  release: (reusable: boolean) => void
}

export interface SocketPool {
  /** A connection to an origin, kept open from an earlier request or new: at once, or after a wait, first come first
   *  served, while all that the origin may have are in use.
   *  @throws PoolSaturatedError when too many wait already, the signal's reason when it fires before, PoolClosedError when
   *    the pool is closed, what opening a connection throws: all as rejections */
  lease(origin: string, signal?: AbortSignal): Lease | Promise<Lease>
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
  take: (connection: Connection) => void
  refuse: (error: Error) => void
}

interface Connection {
  dispatcher: Dispatcher
  /** Closes it when it is idle; started anew at each use. */
  expiry: NodeJS.Timeout
}

interface Origin {
  inUse: number
  /** Most recently used last. */
  idle: Connection[]
  waiters: Set<Waiter>
}

/** A pool without connections yet. */
export const createSocketPool = (options: SocketPoolOptions): SocketPool => {
  // In order of last use.
  const origins = new Map<string, Origin>()
  let lastUsed: string | undefined
  let closed: { resolve: () => void; promise: Promise<void> } | undefined

  const originOf = (name: string): Origin => {
    const known = origins.get(name)
    // Most requests go where the one before them went.
    if (known !== undefined && name === lastUsed) return known
    const origin = known ?? { inUse: 0, idle: [], waiters: new Set<Waiter>() }
    origins.delete(name)
    origins.set(name, origin)
    lastUsed = name
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

  const open = (name: string, origin: Origin): Connection => {
    const connection: Connection = {
      dispatcher: options.open(name),
      expiry: setTimeout(() => {
        if (origin.idle.includes(connection)) closeIdle(name, connection)
      }, maxIdleMs).unref(),
    }
    return connection
  }

  const destroy = ({ dispatcher, expiry }: Connection): void => {
    clearTimeout(expiry)
    void dispatcher.destroy()
  }

  const closeIdle = (name: string, connection: Connection): void => {
    destroy(connection)
    const origin = origins.get(name)
    if (origin === undefined) return
    origin.idle = origin.idle.filter((other) => other !== connection)
    forgetUnused(name, origin)
  }

  const forgetUnused = (name: string, origin: Origin): void => {
    if (origin.inUse === 0 && origin.idle.length === 0) origins.delete(name)
    if (origins.size === 0) closed?.resolve()
  }

  const release = (name: string, origin: Origin, connection: Connection, reusable: boolean): void => {
    if (!reusable) destroy(connection)
    const next = origin.waiters.values().next().value
    if (next && serve(name, origin, next, reusable ? connection : undefined)) return
    origin.inUse--
    if (reusable) keep(name, origin, connection)
    forgetUnused(name, origin)
  }

  /** @param connection  that is free; a new one is opened otherwise
   *  @returns false when none could be opened: all who wait are told why */
  const serve = (name: string, origin: Origin, next: Waiter, connection: Connection | undefined): boolean => {
    try {
      next.take(connection ?? open(name, origin))
      return true
    } catch (error) {
      for (const waiter of [...origin.waiters]) waiter.refuse(error as Error)
      return false
    }
  }

  const keep = (name: string, origin: Origin, connection: Connection): void => {
    connection.expiry.refresh()
    origin.idle.push(connection)
    if (closed) closeIdle(name, connection)
  }

  const leaseOf = (name: string, origin: Origin, connection: Connection): Lease => ({
    dispatcher: connection.dispatcher,
    release: (reusable) => release(name, origin, connection, reusable),
  })

  const takeFree = (name: string, origin: Origin): Connection | undefined => {
    const connection = origin.idle.pop()
    if (connection === undefined && origin.inUse >= options.maxSocketsPerOrigin) return undefined
    // Opened before it counts as in use: one that cannot be opened is given back by nobody.
    const taken = connection ?? open(name, origin)
    origin.inUse++
    return taken
  }

  const wait = async (name: string, origin: Origin, signal: AbortSignal | undefined): Promise<Lease> => {
    if (origin.waiters.size >= maxWaitersPerOrigin) throw new PoolSaturatedError(`Too many requests wait for ${name}.`)
    const connection = await new Promise<Connection>((resolve, reject) => {
      const leave = (): void => {
        origin.waiters.delete(waiter)
        signal?.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter = {
        take: (taken) => {
          leave()
          resolve(taken)
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
    return leaseOf(name, origin, connection)
  }

  return {
    lease(name, signal) {
      if (signal?.aborted === true) return Promise.reject(signal.reason as Error)
      if (closed) return Promise.reject(new PoolClosedError('The pool is closed.'))
      const origin = originOf(name)
      try {
        const free = takeFree(name, origin)
        return free === undefined ? wait(name, origin, signal) : leaseOf(name, origin, free)
      } catch (error) {
        forgetUnused(name, origin)
        return Promise.reject(error instanceof Error ? error : new Error(String(error)))
      }
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
