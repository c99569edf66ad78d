/** One request and its answer on one connection, under one timer. */

import type { Dispatcher } from 'undici'
import type { EndpointOptions } from '../schemas/endpoint-options.ts'
import { isSuccess, type Answer } from './answer.ts'
import { createDeadlines, type Deadline, type Deadlines } from './deadlines.ts'
import type { Use } from './connections.ts'

/** Most bytes of a body that are read; the rest is dropped with its connection. */
export const maxBodyBytes = 64 * 1024
/** How long a body may take after its head, in milliseconds; the answer counts anyway. */
export const maxBodyMs = 1000
/** How much of a success is waited for, in bytes and in milliseconds after its head: most have their short body beside it. */
const shownBytes = 2 * 1024
const shownWithinMs = 100

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
  /** Whether it had begun: with a connection, or to open one. */
  readonly isBegun: boolean
  /** @param durationMs  how long the exchange ran, in milliseconds; undefined where it had not begun */
  constructor(cause: Error, durationMs: number | undefined) {
    super(cause.message)
    this.cause = cause
    this.durationMs = durationMs ?? 0
    this.isBegun = durationMs !== undefined
  }
}

interface Outbound {
  origin: string
  path: string
  method: EndpointOptions['method'] | undefined
  headers: Record<string, string>
  body: string
  isCalledOff: (() => boolean) | undefined
  successStatuses: EndpointOptions['successStatuses'] | undefined
}

/** Time limits that all exchanges of a sender share. */
export interface ExchangeLimits {
  head: Deadlines
  /** Of the beginning of a success's body. */
  shown: Deadlines
  body: Deadlines
}

/** Limits for exchanges.
 *  @returns those for a time for name look-up, connect, TLS and the head of the answer together, in milliseconds: few are in use */
export function createLimits(): (timeoutMs: number) => ExchangeLimits {
  const [shown, body] = [createDeadlines(shownWithinMs), createDeadlines(maxBodyMs)]
  const known = new Map<number, ExchangeLimits>()
  return (timeoutMs) => {
    const limits = known.get(timeoutMs) ?? { head: createDeadlines(timeoutMs), shown, body }
    known.set(timeoutMs, limits)
    return limits
  }
}

/** Posts a request, and resolves with a success as soon as its head is there, and shortly after it the beginning of its body. The connection is kept when the answer is read to its end. Where no
 *  connection is free the limit runs from the moment at which there is one.
 *  @throws CalledOffError; AttemptTimeoutError when the head is late, the signal's reason when that fires first, and the error of the
 *    network otherwise, each a FailedExchange; the connection is then closed, which also stops what still runs on it */
export const exchange = (
  use: Use,
  outbound: Outbound,
  limits: ExchangeLimits,
  signal: AbortSignal | undefined,
): Promise<Answer> =>
  // One promise that callbacks resolve: with async hooks, as Temporal's activities have them, each costs dearly.
  new Promise((resolve, reject) => {
    new Exchange(use, outbound, limits, signal, { resolve, reject }).begin()
  })

/** Who waits for an exchange. */
interface Waiting {
  resolve: (answer: Answer) => void
  reject: (error: FailedExchange) => void
}

/** One exchange, told by undici what happens on its connection. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #use: Use
  readonly #outbound: Outbound
  readonly #limits: ExchangeLimits
  readonly #signal: AbortSignal | undefined
  readonly #waiting: Waiting
  #startedAt: number | undefined
  #controller: Dispatcher.DispatchController | undefined
  #answer: Omit<Answer, 'body'> | undefined
  /** What is kept of the body. */
  #chunks: Buffer[] = []
  #received = 0
  /** Of a success less is kept. */
  #isSuccess = false
  #isFinished = false
  #headLimit: Deadline | undefined
  #shownLimit: Deadline | undefined
  #bodyLimit: Deadline | undefined

  constructor(use: Use, outbound: Outbound, limits: ExchangeLimits, signal: AbortSignal | undefined, waiting: Waiting) {
    this.#use = use
    this.#outbound = outbound
    this.#limits = limits
    this.#signal = signal
    this.#waiting = waiting
  }

  begin(): void {
    const { dispatcher, isFree } = this.#use
    const { origin, path, method = 'POST', headers, body } = this.#outbound
    this.#signal?.addEventListener('abort', this.#onAbort, { once: true })
    try {
      this.#signal?.throwIfAborted()
      if (isFree) this.#start()
      // The members are written one by one: V8 gives each copy made by spreading a hidden class of its own, and undici looks up 16 members.
      dispatcher.dispatch({ origin, path, method, headers, body }, this)
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  /** There is a connection; what this throws becomes the error of the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isFinished || this.#outbound.isCalledOff?.() === true) throw new CalledOffError()
    this.#controller = controller
    if (this.#startedAt === undefined) this.#start()
  }

  onResponseStart(_controller: unknown, status: number, headers: Answer['headers']): void {
    if (status < 200) return
    this.#signal?.removeEventListener('abort', this.#onAbort)
    if (this.#headLimit !== undefined) this.#limits.head.lift(this.#headLimit)
    const durationMs = performance.now() - (this.#startedAt ?? 0)
    this.#answer = { status, headers, durationMs }
    this.#isSuccess = isSuccess(status, this.#outbound.successStatuses)
    if (!this.#isSuccess) return this.#limitBody()
    this.#shownLimit = this.#limits.shown.set(() => {
      this.#resolve()
      this.#limitBody()
    })
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    // The chunk is copied: it is a view of a larger buffer that undici goes on using.
    const mostKept = this.#isSuccess ? shownBytes : maxBodyBytes
    if (this.#received < mostKept) this.#chunks.push(Buffer.from(chunk.subarray(0, mostKept - this.#received)))
    this.#received += chunk.length
    if (this.#isSuccess && this.#received >= shownBytes) this.#resolve()
    if (this.#received > maxBodyBytes) this.#finish(false)
  }

  onResponseEnd(): void {
    this.#finish(true)
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#answer === undefined) this.#fail(error)
    else this.#finish(false)
  }

  /** As with the time limit: a process that stood still learns that Temporal gave the attempt up and finds the answer in the
   *  same moment. */
  readonly #onAbort = (): void =>
    void setImmediate(() => {
      if (this.#answer === undefined) this.#fail(this.#signal?.reason as Error)
    })

  #limitBody(): void {
    this.#bodyLimit = this.#limits.body.set(() => this.#finish(false))
  }

  /** The first time counts. */
  #resolve(): void {
    if (this.#answer !== undefined) this.#waiting.resolve({ ...this.#answer, body: Buffer.concat(this.#chunks) })
  }

  #start(): void {
    this.#startedAt = performance.now()
    // An answer that lies in the socket when the timer fires late, as on a busy machine, is read before it is judged.
    this.#headLimit = this.#limits.head.set(() => setImmediate(() => this.#expire()))
  }

  #expire(): void {
    if (this.#answer === undefined) this.#fail(new AttemptTimeoutError())
  }

  #fail(error: Error): void {
    this.#signal?.removeEventListener('abort', this.#onAbort)
    const durationMs = this.#startedAt === undefined ? undefined : performance.now() - this.#startedAt
    this.#waiting.reject(new FailedExchange(error, durationMs))
    this.#finish(false)
  }

  /** @param reusable  whether the connection may take another request */
  #finish(reusable: boolean): void {
    if (this.#isFinished) return
    this.#isFinished = true
    if (this.#headLimit !== undefined) this.#limits.head.lift(this.#headLimit)
    if (this.#shownLimit !== undefined) this.#limits.shown.lift(this.#shownLimit)
    if (this.#bodyLimit !== undefined) this.#limits.body.lift(this.#bodyLimit)
    this.#resolve()
    this.#use.done()
    // undici must not have a connection closed in the midst of its work on it.
    if (!reusable && this.#controller !== undefined)
      queueMicrotask(() => this.#controller?.abort(new Error('the exchange is over')))
  }
}
