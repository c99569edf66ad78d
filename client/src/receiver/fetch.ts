/** Handler for servers that speak `Request` and `Response`: Deno, Bun, Hono, Next.js and others. */

import type { ReceiverOptions } from './read-delivery.ts'
import { MAX_BODY_BYTES, readDelivery } from './read-delivery.ts'

/** A function from a delivery's request to its answer. What `onMessage` throws is printed and answered with 500: not all of these servers
 *  do that by themselves. */
export function fetchReceiver(options: ReceiverOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { Allow: 'POST' } })
    const body = await readBody(request)
    if (body === undefined) return new Response(null, { status: 413 })
    const delivery = readDelivery(body, (name) => request.headers.get(name), options)
    if (delivery.status !== 200) return new Response(null, { status: delivery.status })
    try {
      await options.onMessage(delivery.message)
    } catch (error) {
      console.error(error)
      return new Response(null, { status: 500 })
    }
    return new Response(null, { status: 204 })
  }
}

async function readBody(request: Request): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // A reader, because in some runtimes the stream itself is not iterable.
  const reader = request.body?.getReader()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    bytes += part.value.length
    if (bytes > MAX_BODY_BYTES) {
      await reader?.cancel()
      return undefined
    }
    chunks.push(part.value)
  }
  return Buffer.concat(chunks)
}
