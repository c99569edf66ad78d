/** One request and its answer on one connection, under one timer. */

import type { Dispatcher } from 'undici'
import { isSuccess, type Answer } from './answer.ts'
import { createDeadlines, type Deadline, type Deadlines } from './deadlines.ts'
import type { Use } from './connections.ts'

/** Most bytes of a body that are read; the rest is dropped with its connection. */
export const maxBodyBytes = 64 * 1024
/** How long a body may take after its head, in milliseconds; the answer counts anyway. */
export const maxBodyMs = 1000

/** The head of the answer did not come within the limit. */
export class AttemptTimeoutError extends Error {
  override name = 'AttemptTimeoutError'
}

/** The request was called off before any of it went out. */
export class CalledOffError extends Error {
  override name = 'CalledOffError'
}

/** An exchange that got no answer. */
export class FailedExchange extends Error {
  override name = 'FailedExchange'
  override readonly cause: Error
  readonly durationMs: number
  /** @param durationMs  how long the exchange ran, in milliseconds */
  constructor(cause: Error, durationMs: number) {
    super(cause.message)
    this.cause = cause
    this.durationMs = durationMs
  }
}

interface Outbound {
  origin: string
  path: string
  headers: Record<string, string>
  body: string
  isCalledOff: (() => boolean) | undefined
}

const noBody = Buffer.alloc(0)

/** Time limits that all exchanges of a sender share. */
export interface ExchangeLimits {
  head: Deadlines
  body: Deadlines
}

/** Limits for exchanges.
 *  @param timeoutMs  for name look-up, connect, TLS and the head of the answer together, in milliseconds */
export const createLimits = (timeoutMs: number): ExchangeLimits => ({
  head: createDeadlines(timeoutMs),
  body: createDeadlines(maxBodyMs),
})

/** Posts a request, and resolves with a success as soon as the head of the answer is there. The connection is kept when the answer is read to its end. Where no
 *  connection is free the limit runs from the moment at which there is one.
 *  @throws CalledOffError; AttemptTimeoutError when the head is late, the signal's reason when that fires first, and the error of the
 *    network otherwise, each a FailedExchange; the connection is then closed, which also stops what still runs on it */
export const exchange = (
  { dispatcher, isFree, done }: Use,
  { origin, path, headers, body, isCalledOff }: Outbound,
  limits: ExchangeLimits,
  signal: AbortSignal | undefined,
): Promise<Answer> =>
  // One promise that callbacks resolve: with async hooks, as Temporal's activities have them, each costs dearly.
  new Promise((resolve, reject) => {
    let startedAt: number | undefined
    let controller: Dispatcher.DispatchController | undefined
    let chunks: Buffer[] | undefined
    let received = 0
    let answer: Answer | undefined
    let finished = false
    let headLimit: Deadline | undefined
    let bodyLimit: Deadline | undefined

    const start = (): void => {
      startedAt = performance.now()
      // An answer that lies in the socket when the timer fires late, as on a busy machine, is read before it is judged.
      headLimit = limits.head.set(() => setImmediate(expire))
    }
    const finish = (reusable: boolean): void => {
      if (finished) return
      finished = true
      if (headLimit !== undefined) limits.head.lift(headLimit)
      if (bodyLimit !== undefined) limits.body.lift(bodyLimit)
      if (answer !== undefined && chunks !== undefined) resolve({ ...answer, body: Buffer.concat(chunks) })
      done()
      // undici must not have a connection closed in the midst of its work on it.
      if (!reusable && controller !== undefined)
        queueMicrotask(() => controller?.abort(new Error('the exchange is over')))
    }
    const fail = (error: Error): void => {
      signal?.removeEventListener('abort', onAbort)
      const durationMs = startedAt === undefined ? 0 : performance.now() - startedAt
      reject(new FailedExchange(error, durationMs))
      finish(false)
    }
    // As with the time limit: a process that stood still learns that Temporal gave the attempt up and finds the answer in the
    // same moment.
    const onAbort = (): void =>
      void setImmediate(() => {
        if (answer === undefined) fail(signal?.reason as Error)
      })
    const expire = (): void => {
      if (answer === undefined) fail(new AttemptTimeoutError())
    }

    const handler: Dispatcher.DispatchHandler = {
      // undici calls `onRequestStart` when the connection is there; what this throws becomes the error of the request.
      onRequestStart(started) {
        if (finished || isCalledOff?.() === true) throw new CalledOffError()
        controller = started
        if (startedAt === undefined) start()
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) return
        signal?.removeEventListener('abort', onAbort)
        if (headLimit !== undefined) limits.head.lift(headLimit)
        bodyLimit = limits.body.set(() => finish(false))
        answer = { status, headers, body: noBody, durationMs: performance.now() - (startedAt ?? 0) }
        if (isSuccess(status)) resolve(answer)
        else chunks = []
      },
      onResponseData(_controller, chunk) {
        // The chunk is copied: it is a view of a larger buffer that undici goes on using.
        if (received < maxBodyBytes) chunks?.push(Buffer.from(chunk.subarray(0, maxBodyBytes - received)))
        received += chunk.length
        if (received > maxBodyBytes) finish(false)
      },
      onResponseEnd: () => finish(true),
      onResponseError: (_controller, error) => (answer === undefined ? fail(error) : finish(false)),
    }

    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      signal?.throwIfAborted()
      if (isFree) start()
      // The members are written one by one: V8 gives each copy made by spreading a hidden class of its own, and undici looks up 16 members.
      dispatcher.dispatch({ origin, path, method: 'POST', headers, body }, handler)
    } catch (error) {
      fail(error as Error)
    }
  })
