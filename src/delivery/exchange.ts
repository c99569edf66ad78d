/** One request and its answer on one connection, under one timer. */

import type { Dispatcher } from 'undici'

/** The head of an answer. */
export interface ResponseHead {
  status: number
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>
  /** From the start of the exchange to the head, in milliseconds. */
  durationMs: number
}

/** How an exchange ended. */
export interface ExchangeEnd {
  /** Beginning of the answer's body, as it came over the wire; empty when there was no answer. */
  body: Buffer
  /** Whether the connection can carry another request. */
  reusable: boolean
}

export interface Exchange {
  /** The answer's head. Rejects with AttemptTimeoutError when it is late, with the signal's reason when that fires
   *  first, and with the error of the network otherwise. */
  head: Promise<ResponseHead>
  /** Never rejects. */
  end: Promise<ExchangeEnd>
}

/** Most bytes of a body that are read; the rest is dropped with its connection. */
export const maxBodyBytes = 64 * 1024
/** How long a body may take after its head; the answer counts anyway. */
export const maxBodyMs = 1000

/** No head within the limit. */
export class AttemptTimeoutError extends Error {
  override name = 'AttemptTimeoutError'
}

/** Posts on a connection that carries nothing else. When the exchange ends without `reusable`, the caller closes the
 *  connection, which also stops what still runs on it.
 *  @param timeoutMs  limit for name look-up, connect, TLS and the head of the answer together */
export const startExchange = (
  dispatcher: Dispatcher,
  request: { origin: string; path: string; headers: Record<string, string>; body: Buffer },
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Exchange => {
  const startedAt = performance.now()
  const chunks: Buffer[] = []
  let received = 0
  let timer: NodeJS.Timeout | undefined
  let answered = false
  let settleHead: { resolve: (head: ResponseHead) => void; reject: (error: Error) => void }
  let settleEnd: (end: ExchangeEnd) => void
  const head = new Promise<ResponseHead>((resolve, reject) => {
    settleHead = { resolve, reject }
  })
  const end = new Promise<ExchangeEnd>((resolve) => {
    settleEnd = resolve
  })

  const finish = (reusable: boolean): void => {
    clearTimeout(timer)
    settleEnd({ body: Buffer.concat(chunks), reusable })
  }
  const fail = (error: Error): void => {
    signal?.removeEventListener('abort', onAbort)
    settleHead.reject(error)
    finish(false)
  }
  const onAbort = (): void => fail(signal?.reason as Error)
  const expire = (): void => {
    if (!answered) fail(new AttemptTimeoutError())
  }

  const handler: Dispatcher.DispatchHandler = {
    // undici takes a handler for one of the present kind only with this member.
    onRequestStart() {},
    onResponseStart(_controller, status, headers) {
      if (status < 200) return
      answered = true
      signal?.removeEventListener('abort', onAbort)
      clearTimeout(timer)
      timer = setTimeout(finish, maxBodyMs, false)
      settleHead.resolve({ status, headers, durationMs: performance.now() - startedAt })
    },
    onResponseData(_controller, chunk) {
      // A copy: undici's chunk is a view of a larger buffer that it goes on using.
      if (received < maxBodyBytes) chunks.push(Buffer.from(chunk.subarray(0, maxBodyBytes - received)))
      received += chunk.length
      if (received > maxBodyBytes) finish(false)
    },
    onResponseEnd: () => finish(true),
    onResponseError: (_controller, error) => (answered ? finish(false) : fail(error)),
  }

  signal?.addEventListener('abort', onAbort, { once: true })
  // An answer that lies in the socket when the timer fires late, as on a busy machine, is read before it is judged.
  timer = setTimeout(() => setImmediate(expire), timeoutMs)
  try {
    signal?.throwIfAborted()
    dispatcher.dispatch({ ...request, method: 'POST' }, handler)
  } catch (error) {
    fail(error as Error)
  }
  return { head, end }
}
