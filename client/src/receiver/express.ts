/** Handler for Express (4 and 5), and for anything else that passes Node's request and response. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ReceiverOptions } from './read-delivery.ts'
import { MAX_BODY_BYTES, readDelivery } from './read-delivery.ts'

type Next = (error?: unknown) => void

/**
 * Express middleware. It reads the body itself, or takes what `express.raw`, `express.text` or `express.json` left in
 * `request.body`; a parsed body is written as JSON again (`spec/`, "Authentication", 4). What `onMessage` throws goes
 * to `next`.
 */
export function expressReceiver(
  options: ReceiverOptions,
): (request: IncomingMessage & { body?: unknown }, response: ServerResponse, next: Next) => void {
  return (request, response, next) => {
    receive(request, options).then((status) => response.writeHead(status).end(), next)
  }
}

async function receive(request: IncomingMessage & { body?: unknown }, options: ReceiverOptions): Promise<number> {
  if (request.method !== 'POST') return 405
  const body = await readBody(request)
  if (body === undefined) return 413
  const delivery = readDelivery(body, (name) => headerOf(request, name), options)
  if (delivery.status !== 200) return delivery.status
  await options.onMessage(delivery.message)
  return 204
}

async function readBody(request: IncomingMessage & { body?: unknown }): Promise<string | Uint8Array | undefined> {
  const { body } = request
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  if (request.readableEnded && body !== undefined) return JSON.stringify(body)
  const chunks: Buffer[] = []
  let bytes = 0
  // Destroyed with the iterator, the connection could not carry the 413.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
}
