/** One HTTP attempt: a request goes out, and what became of it comes back. */

import { LRUCache } from 'lru-cache'
import { EnvHttpProxyAgent, Pool } from 'undici'
import type { Dispatcher } from 'undici'
import type { Answer } from './answer.ts'
import { classifyAnswer } from './classify-answer.ts'
import { classifyFailure } from './classify-failure.ts'
import { createConnect } from './connect.ts'
import type { Lookup } from './connect.ts'
import { ConnectionsClosedError, createConnections } from './connections.ts'
import { CalledOffError, createLimits, exchange, FailedExchange } from './exchange.ts'
import { createAddressGuard, type Refusal } from './guard-address.ts'
import { socketsPerOrigin } from './gate-bounds.ts'
import { usualOptions, type EndpointOptions } from '../schemas/endpoint-options.ts'
import { isFetching } from '../schemas/listen-request.ts'
import { isOwn } from './headers.ts'
import type { Mailbox } from './mailbox.ts'
import type { SendOutcome } from './outcome.ts'
import type { ProxySettings } from './proxy.ts'

export { CalledOffError } from './exchange.ts'
export type { SendOutcome } from './outcome.ts'

/** How long an endpoint has for its answer unless it says otherwise, in milliseconds. */
export const defaultTimeoutMs = usualOptions.timeoutSeconds * 1_000
/** Most origins that connections are kept open to. */
export const maxOrigins = 500
/** Largest head of an answer, in bytes: its header names and values together. */
export const maxHeadBytes = 16 * 1024
/** Longest that a receiver's `Keep-Alive` hint is believed, in milliseconds. */
const maxKeepAliveMs = 60_000
/** Shortest word of a header value that is hidden, in characters: shorter ones are too common. */
const minSecretLength = 8

export interface SenderOptions {
  /** CIDRs that requests may reach although they are not public. */
  allowedNetworks: readonly string[]
  /** Of requests that have no limit of their own, in milliseconds. */
  timeoutMs?: number
  maxSocketsPerOrigin?: number
  proxy?: ProxySettings | undefined
  lookup?: Lookup
  /** Takes requests to endpoints that fetch them; without it these do not resolve. */
  mailbox?: Mailbox
}

export interface SendRequest {
  url: string
  /** Which endpoint may fetch it; absent: it is sent, whatever its URL. */
  endpointId?: string | undefined
  /** `POST` unless given. */
  method?: EndpointOptions['method']
  headers: Record<string, string>
  body: string
  /** Limit for name look-up, connect, TLS and the head of the answer together, in milliseconds; the wait for a free connection does
   *  not count. */
  timeoutMs?: number
  /** Statuses and ranges that mean success beside 2xx; none unless given. */
  successStatuses?: EndpointOptions['successStatuses'] | undefined
  /** Whether the request must not go out after all; asked when the connection is there, just before it would. */
  isCalledOff?: () => boolean
}

export interface Sender {
  /** Makes a request and tells what became of it. Redirects are not followed; the head of the answer decides, its body
   *  is only read for the excerpt.
   *  @param signal  stops the attempt
   *  @throws SendAbortedError (`name` is AbortError) when the signal fires before an answer, or the sender is closed
   *  @throws CalledOffError when the request is called off; nothing of it went out */
  send(request: SendRequest, signal?: AbortSignal): Promise<SendOutcome>
  /** Takes no more requests, waits for those under way (at most the time limit and a second), closes all connections. */
  close(): Promise<void>
}

/** The attempt was stopped from this side: nothing is known about the endpoint. */
export class SendAbortedError extends Error {
  override name = 'AbortError'
  /** Whether it had begun: with a connection, or to open one. */
  readonly isBegun: boolean
  constructor(isBegun: boolean, cause?: unknown) {
    super('The attempt was stopped.', { cause })
    this.isBegun = isBegun
  }
}

/** A sender with its connections.
 *  @throws Error when an allowed network is not a CIDR */
export const createSender = (options: SenderOptions): Sender => {
  const usualMs = options.timeoutMs ?? defaultTimeoutMs
  const guard = createAddressGuard(options.allowedNetworks)
  const connect = createConnect({ guard, lookup: options.lookup })
  const connections = createConnections({
    open: openerOf(connect, options.proxy),
    maxPerOrigin: options.maxSocketsPerOrigin ?? socketsPerOrigin,
    maxOrigins,
  })
  const limitsOf = createLimits()
  const targetOf = createTargets(guard)

  // `then` rather than `await`: each promise that this saves counts, see `exchange`.
  const send = (request: SendRequest, signal?: AbortSignal): Promise<SendOutcome> => {
    const { url, endpointId, method, headers, body, isCalledOff, successStatuses, timeoutMs = usualMs } = request
    const target = targetOf(url)
    if (target.kind === 'refused') return Promise.resolve({ kind: 'rejected', ...target.refusal, durationMs: 0 })
    const { origin, host, path } = target
    const read = (answer: Answer): SendOutcome => classifyAnswer(answer, successStatuses, () => secretsOf(headers))
    const fail = (thrown: unknown): SendOutcome => {
      const failed = thrown instanceof FailedExchange ? thrown : new FailedExchange(thrown as Error, undefined)
      const { cause: error, durationMs, isBegun } = failed
      if (error instanceof CalledOffError) throw error
      if (signal?.aborted === true || error instanceof ConnectionsClosedError)
        throw new SendAbortedError(isBegun, error)
      return classifyFailure(error, { host, timeoutMs, durationMs })
    }
    const { mailbox } = options
    if (mailbox !== undefined && endpointId !== undefined && isFetching(host)) {
      const laidDown = { endpointId, method: method ?? 'POST', headers, body, timeoutMs, isCalledOff }
      return mailbox.exchange(laidDown, signal).then(read, fail)
    }
    try {
      const outbound = { origin, path, method, headers, body, isCalledOff, successStatuses }
      return exchange(connections.use(origin, timeoutMs), outbound, limitsOf(timeoutMs), signal).then(read, fail)
    } catch (error) {
      return Promise.resolve(error).then(fail)
    }
  }

  const close = () => Promise.all([connections.close(), options.mailbox?.close()]).then(() => undefined)
  return { send, close }
}

/** What is known of a URL before any request. */
type Target = { kind: 'refused'; refusal: Refusal } | { kind: 'allowed'; origin: string; host: string; path: string }

/** Reading and judging a URL costs a tenth of a request, and the same few are posted to over and over. */
function createTargets(guard: Pick<ReturnType<typeof createAddressGuard>, 'refuseUrl'>): (url: string) => Target {
  const targets = new LRUCache<string, Target>({ max: maxOrigins })
  return (url) => {
    const known = targets.get(url)
    if (known !== undefined) return known
    const refusal = guard.refuseUrl(url)
    const target = refusal === undefined ? readUrl(url) : { kind: 'refused' as const, refusal }
    targets.set(url, target)
    return target
  }
}

const readUrl = (url: string): Target => {
  const { origin, host, pathname, search } = new URL(url)
  return { kind: 'allowed', origin, host, path: pathname + search }
}

/** One request per connection at a time, HTTP/1.1. undici's own timers stay off: they are half a second late. */
const clientLimits = {
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveMaxTimeout: maxKeepAliveMs,
} as const

const openerOf =
  (
    connectWithin: ReturnType<typeof createConnect>,
    proxy: ProxySettings | undefined,
  ): ((origin: string, connections: number, timeoutMs: number) => Dispatcher) =>
  (origin, connections, timeoutMs) => {
    const clientOptions = { connect: connectWithin(timeoutMs), maxHeaderSize: maxHeadBytes, ...clientLimits }
    if (!proxy?.httpProxy && !proxy?.httpsProxy) return new Pool(origin, { ...clientOptions, connections })
    return new EnvHttpProxyAgent({
      ...clientOptions,
      connections,
      // An empty text, because undici would read the environment for one that is unset.
      httpProxy: proxy.httpProxy ?? '',
      httpsProxy: proxy.httpsProxy ?? '',
      noProxy: proxy.noProxy ?? '',
      // A proxy that does not answer keeps no connection for long: undici's own limit is five minutes.
      clientFactory: (url: URL, options: object) => new Pool(url, { ...options, headersTimeout: timeoutMs }),
      requestTls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    })
  }

/** Values of the endpoint's own headers and their parts, as tokens: an error page may repeat what it was sent. */
const secretsOf = (headers: Record<string, string>): string[] =>
  Object.entries(headers)
    .filter(([name]) => !isOwn(name))
    .flatMap(([, value]) => [value, ...value.split(' ')])
    .filter((text) => text.length >= minSecretLength)
