/** The endpoint of the benches, in a process of its own: counts distinct messages. Prints its port; GET tells the count. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

const seen = new Set<string>()
let received = 0

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.method === 'POST') {
      const raw = Buffer.concat(chunks)
      const json = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw
      const { batch } = JSON.parse(json.toString()) as { batch: { messageId: string }[] }
      received += batch.length
      for (const { messageId } of batch) seen.add(messageId)
      response.end('{"success":true}')
    } else {
      response.end(JSON.stringify({ received, distinct: seen.size }))
      received = 0
      seen.clear()
    }
  })
})
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port)
})
