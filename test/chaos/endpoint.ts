/** The endpoint of a chaos run: it counts what it took, and fails as told. */

import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type EndpointState = 'well' | 'failing' | 'hanging'

export interface ChaosEndpoint {
  url: string
  /** Moments (of `performance.now`) at which a request with the message id was answered 200. */
  taken: ReadonlyMap<string, readonly number[]>
  /** Requests that were answered otherwise, or not at all. */
  refused(): number
  /** `failing` answers 503, `hanging` never answers. Those who hang are let go when it is well again. */
  be(state: EndpointState): void
  /** Takes no connections, and takes them again on the same port. */
  close(): Promise<void>
  open(): Promise<void>
}

export async function startChaosEndpoint(): Promise<ChaosEndpoint> {
  const taken = new Map<string, number[]>()
  const hanging = new Set<ServerResponse>()
  let state: EndpointState = 'well'
  let refused = 0
  let port = 0
  let server: Server | undefined

  const take = (body: string, response: ServerResponse): void => {
    if (state !== 'well') refused++
    if (state === 'hanging') return void hanging.add(response)
    if (state === 'failing') return void response.writeHead(503).end()
    const { messageId } = JSON.parse(body) as { messageId: string }
    const moments = taken.get(messageId) ?? []
    taken.set(messageId, [...moments, performance.now()])
    response.writeHead(200).end()
  }

  const endpoint: ChaosEndpoint = {
    url: '',
    taken,
    refused: () => refused,
    be(next) {
      state = next
      if (state === 'hanging') return
      for (const response of hanging) response.destroy()
      hanging.clear()
    },
    async open() {
      server = createServer((request, response) => {
        let body = ''
        request.setEncoding('utf8').on('data', (text: string) => (body += text))
        request.on('end', () => take(body, response)).on('error', () => {})
      })
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
      port = (server.address() as AddressInfo).port
    },
    async close() {
      if (!server?.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  await endpoint.open()
  return { ...endpoint, url: `http://127.0.0.1:${port}/` }
}
