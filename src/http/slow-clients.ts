/** Bounds on connections and on the time that a request takes to arrive: who sends slowly, or not at all, holds neither
 *  sockets nor memory for long. */

import { STATUS_CODES, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyHttpOptions, FastifyInstance, FastifyReply } from 'fastify'
import { AppError } from '../errors.ts'
import { errorBody } from './errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Lets the body of this reply's request come for as long as something of it comes; for uploads of any size. */
    limitIdleOnly: (reply: FastifyReply) => void
  }
}

export interface ClientLimits {
  /** How long a request may take to arrive whole, in milliseconds; an upload: how long nothing of it may arrive. */
  requestTimeoutMs: number
  /** Connections at a time. */
  maxConnections: number
}

/** How long the head of a request may take, in milliseconds. */
const maxHeadersMs = 15_000

/** Milliseconds between two looks for requests whose time is over. */
const maxCheckMs = 2_000

/** @returns `options` for `fastify()`, and `apply` for the server made with them */
export function limitClients({ requestTimeoutMs, maxConnections }: ClientLimits) {
  /** Connections that carry an upload. */
  const uploading = new WeakSet<Socket>()
  const options = {
    requestTimeout: requestTimeoutMs,
    http: {
      headersTimeout: Math.min(maxHeadersMs, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(maxCheckMs, requestTimeoutMs),
    },
    clientErrorHandler(error, socket) {
      if (error.code === 'ECONNRESET' || socket.destroyed) return
      // Node looks at each request once: what is spared here goes on under its own limit.
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && uploading.has(socket)) return
      answerAndEnd(socket, answerTo(error.code))
    },
  } satisfies FastifyHttpOptions<Server>

  return {
    options,
    apply(app: FastifyInstance): void {
      app.decorate('limitIdleOnly', (reply) => limitIdle(reply, requestTimeoutMs, uploading))
      turnAwayBeyond(app.server, maxConnections)
    },
  }
}

function limitIdle(
  { raw: response, request: { raw: request } }: FastifyReply,
  idleMs: number,
  uploading: WeakSet<Socket>,
) {
  const { socket } = request
  uploading.add(socket)
  response.once('close', () => uploading.delete(socket))
  response.setTimeout(idleMs, () => {
    // It is not the client that is slow while what has come waits to be worked on.
    if (request.complete || request.readableLength > 0) socket.setTimeout(idleMs)
    else answerAndEnd(socket, answerTo('ERR_HTTP_REQUEST_TIMEOUT'))
  })
}

function turnAwayBeyond(server: FastifyInstance['server'], maxConnections: number): void {
  const refusal = new AppError('unavailable', 'Too many connections are open', { retryAfterSeconds: 5 })
  let open = 0
  server.on('connection', (socket: Socket) => {
    open++
    socket.once('close', () => open--)
    if (open > maxConnections) answerAndEnd(socket, refusal)
  })
}

function answerTo(code: string): AppError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('request_timeout', 'The request took too long to arrive.')
  if (code === 'HPE_HEADER_OVERFLOW') return new AppError('bad_request', 'The headers of the request are too large.')
  return new AppError('bad_request', 'The request is not HTTP.')
}

/** For connections on which no request can be answered the usual way. */
function answerAndEnd(socket: Socket, error: AppError): void {
  const body = JSON.stringify(errorBody(error))
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(error.retryAfterSeconds === undefined ? [] : [`Retry-After: ${error.retryAfterSeconds}`]),
    'Connection: close',
  ]
  if (socket.writable) socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  socket.destroySoon()
}
