/** A receiver on a thread of its own, that answers 200 and, when asked to, remembers what it received. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const source = `
  const http = require('node:http')
  const { parentPort } = require('node:worker_threads')
  let seen
  let repeats = 0
  const server = http.createServer((request, response) => {
    if (seen) {
      const id = request.headers['webhook-id']
      if (seen.has(id)) repeats++
      seen.add(id)
    }
    request.resume()
    request.on('end', () => response.end())
  })
  parentPort.on('message', (message) => {
    if (message === 'remember') seen = new Set()
    else parentPort.postMessage({ received: seen.size, repeats })
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

export interface BenchReceiver {
  url: string
  /** From now on it remembers message ids: that takes time, which the figures of speed leave out. */
  remember(): void
  /** Messages since then, and how many of them came again. */
  remembered(): Promise<{ received: number; repeats: number }>
  close(): Promise<unknown>
}

export async function startReceiver(): Promise<BenchReceiver> {
  const worker = new Worker(source, { eval: true })
  const [port] = (await once(worker, 'message')) as [number]
  return {
    url: `http://127.0.0.1:${port}/`,
    remember: () => worker.postMessage('remember'),
    async remembered() {
      worker.postMessage('tell')
      const [told] = (await once(worker, 'message')) as [{ received: number; repeats: number }]
      return told
    },
    close: () => worker.terminate(),
  }
}
