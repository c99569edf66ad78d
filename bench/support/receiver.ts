/** An endpoint that counts and times what arrives. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BenchReceiver {
  url: string
  /** performance.now() of each arrival, by the body's messageId. */
  arrivals: Map<string, number>
  /** Requests in all, repeats too. */
  requests: () => number
  /** Resolves when so many have arrived. */
  arrived(count: number, limitMs: number): Promise<void>
  stop(): void
}

/** @param answer  what to do once a request is read; 200 at once unless given */
export async function startBenchReceiver(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.writeHead(200).end(),
): Promise<BenchReceiver> {
  const arrivals = new Map<string, number>()
  let requests = 0
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      requests++
      const id = /"messageId":"([^"]*)"/.exec(text)?.[1] ?? ''
      if (!arrivals.has(id)) arrivals.set(id, performance.now())
      answer(request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivals,
    requests: () => requests,
    async arrived(count, limitMs) {
      const deadline = performance.now() + limitMs
      while (arrivals.size < count) {
        if (performance.now() > deadline) throw new Error(`${arrivals.size} of ${count} arrived within ${limitMs} ms`)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
