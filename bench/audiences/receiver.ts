/** A receiver on a thread of its own, that answers 200 and counts. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const source = `
  const http = require('node:http')
  const { parentPort } = require('node:worker_threads')
  const server = http.createServer((request, response) => {
    request.resume()
    request.on('end', () => response.end())
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

export interface CountingReceiver {
  url: string
  close(): Promise<unknown>
}

export async function startCountingReceiver(): Promise<CountingReceiver> {
  const worker = new Worker(source, { eval: true })
  const [port] = (await once(worker, 'message')) as [number]
  return { url: `http://127.0.0.1:${port}/`, close: () => worker.terminate() }
}
