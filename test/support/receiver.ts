/** A real HTTP or HTTPS endpoint on a port of its own, that records what arrives and answers as told. */

import { once } from 'node:events'
import http from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ReceivedRequest {
  method: string
  /** Path and query as they stood in the request line. */
  path: string
  /** Names in lower case; values hold one byte per character. */
  headers: IncomingHttpHeaders
  /** Names and values in turn, as they came. */
  rawHeaders: string[]
  body: Buffer
  /** When the head had arrived. */
  arrivedAt: Date
  /** Number of the connection that carried it, from 1. */
  connection: number
  /** The sender went away before it had an answer. */
  isAbandoned: boolean
}

/** What to answer. `hang` never answers, `reset` ends the connection with a TCP reset, `raw` writes these bytes to the
 *  socket and nothing else. Otherwise status 200, the body after the head and all of it `delayMs` late. */
export type Answer =
  | 'hang'
  | 'reset'
  | { raw: Buffer }
  | {
      status?: number
      headers?: OutgoingHttpHeaders
      body?: string | Buffer
      delayMs?: number
      /** Sends head and body at once, and the end of the body this much later. */
      bodyDelayMs?: number
    }

export interface Receiver extends AsyncDisposable {
  /** Without a slash at the end. */
  url: string
  host: string
  port: number
  requests: ReceivedRequest[]
  /** Connections accepted so far; with TLS also those whose handshake failed. */
  connections(): number
  /** What to answer from now on: always the same, or by request and its number from 0. */
  answer(with_: Answer | ((request: ReceivedRequest, index: number) => Answer)): void
  /** These answers to the next requests, in turn; the last one stays. */
  answerInTurn(...answers: Answer[]): void
  /** The requests, as soon as there are that many; throws when there are not within the limit (90 s). */
  received(count: number, withinMs?: number): Promise<ReceivedRequest[]>
  close(): Promise<void>
}

export interface ReceiverOptions {
  host?: string
  /** 0: a free one. */
  port?: number
  tls?: TlsOptions
}

/** Starts a receiver; it answers 200 until told otherwise. */
export const startReceiver = async ({ host = '127.0.0.1', port = 0, tls }: ReceiverOptions = {}): Promise<Receiver> => {
  const requests: ReceivedRequest[] = []
  const sockets = new Map<Socket, number>()
  let accepted = 0
  let choose: (request: ReceivedRequest, index: number) => Answer = () => ({})

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const arrivedAt = new Date()
    // The sender may go away in the middle of a request: that is part of the tests.
    const body = await readBody(request).catch(() => undefined)
    if (body === undefined) {
      request.socket.destroy()
      return
    }
    const received: ReceivedRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body,
      arrivedAt,
      connection: sockets.get(request.socket) ?? 0,
      isAbandoned: false,
    }
    requests.push(received)
    response.once('close', () => (received.isAbandoned = !response.headersSent))
    await respond(choose(received, requests.length - 1), request.socket, response)
  }
  // What a test's own `choose` throws is its defect: it fails the run.
  const listener = (request: IncomingMessage, response: ServerResponse): void => void onRequest(request, response)
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener)
  server.on('connection', () => accepted++)
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, accepted)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const boundPort = (server.address() as AddressInfo).port

  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }

  return {
    url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    host,
    port: boundPort,
    requests,
    connections: () => accepted,
    answer(answer) {
      choose = typeof answer === 'function' ? answer : () => answer
    },
    answerInTurn(...answers) {
      const first = requests.length
      choose = (_request, index) => answers[Math.min(index - first, answers.length - 1)] ?? {}
    },
    async received(count, withinMs = 90_000) {
      const deadline = Date.now() + withinMs
      while (requests.length < count) {
        if (Date.now() > deadline) throw new Error(`${requests.length} of ${count} requests arrived in ${withinMs} ms`)
        await sleep(5)
      }
      return requests
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const respond = async (answer: Answer, socket: Socket, response: ServerResponse): Promise<void> => {
  if (answer === 'hang') return
  if (answer === 'reset') {
    socket.resetAndDestroy()
    return
  }
  if ('raw' in answer) {
    socket.write(answer.raw)
    return
  }
  if (answer.delayMs) await sleep(answer.delayMs, undefined, { ref: false })
  response.writeHead(answer.status ?? 200, answer.headers)
  if (answer.bodyDelayMs) {
    // Begins the body, which also sends the head.
    response.write(answer.body ?? ' ')
    await sleep(answer.bodyDelayMs, undefined, { ref: false })
  }
  response.end(answer.bodyDelayMs ? undefined : answer.body)
}
