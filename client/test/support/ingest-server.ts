/** A real HTTP server that speaks the service's batch protocol and remembers what came. */

import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Message } from '@postrider/analytics'

export interface BatchRequest {
  path: string | undefined
  headers: IncomingHttpHeaders
  /** The client's port: the same one for requests of one connection. */
  connection: number | undefined
  /** Length of the JSON, after decompression. */
  bytes: number
  body: { batch: Message[]; sentAt: string; writeKey?: string }
}

/** What to answer instead of success. `hang` never answers, `cut` closes the connection. */
export type Answer =
  | 'hang'
  | 'cut'
  | { status: number; headers?: Record<string, string>; body?: object }
  | ((request: BatchRequest) => { status: number; body: object })

export interface IngestServer {
  url: string
  port: number
  requests: BatchRequest[]
  /** Answers for the next requests, first in, first out; then success. */
  answers: Answer[]
  /** Messages of the requests that were answered with success, once per messageId, in order of arrival. */
  messages(): Message[]
  /** Closes the port and cuts every connection; `start` opens the same port again. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** @param tls  key and certificate in PEM, for HTTPS */
export async function startIngestServer(tls?: { key: string; cert: string }): Promise<IngestServer> {
  const accepted = new Map<string, Message>()
  const requests: BatchRequest[] = []
  const answers: Answer[] = []

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('Access-Control-Allow-Origin', '*')
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const raw = Buffer.concat(chunks)
    const json = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw
    const body = JSON.parse(json.toString()) as BatchRequest['body']
    const { url: path, headers, socket } = request
    const seen = { path, headers, connection: socket.remotePort, bytes: json.length, body }
    requests.push(seen)
    const next = answers.shift()
    if (next === 'hang') return
    if (next === 'cut') return void request.socket.destroy()
    const answer = typeof next === 'function' ? next(seen) : (next ?? { status: 200, body: { success: true } })
    if (answer.status === 200) for (const message of body.batch) accepted.set(message.messageId, message)
    response.writeHead(answer.status, 'headers' in answer ? answer.headers : {})
    response.end(answer.body ? JSON.stringify(answer.body) : undefined)
  }

  const listen = async (port: number) => {
    const listener = (request: IncomingMessage, response: ServerResponse) => {
      // A client that is killed or closed in mid-request cuts its body off; that is no fault of the test.
      handle(request, response).catch(() => response.destroy())
    }
    const server = tls ? createTlsServer(tls, listener) : createServer(listener)
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
    return server
  }

  let server = await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    requests,
    answers,
    messages: () => [...accepted.values()],
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
    async start() {
      server = await listen(port)
    },
  }
}
