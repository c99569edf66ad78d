/** A receiver on a thread of its own, that answers 200 and, when asked to, remembers what it received. It reads no more of
 *  HTTP than it must: what it takes of the two cores is missing to what is measured. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const source = `
  const net = require('node:net')
  const { parentPort } = require('node:worker_threads')
  const answer = Buffer.from('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nKeep-Alive: timeout=60\\r\\n\\r\\n')
  let seen
  let repeats = 0
  const remember = (head) => {
    const [, id] = /^webhook-id: (.*)$/im.exec(head)
    if (seen.has(id)) repeats++
    seen.add(id)
  }
  const server = net.createServer({ noDelay: true }, (socket) => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.latin1Slice()
      for (;;) {
        const headEnd = text.indexOf('\\r\\n\\r\\n')
        if (headEnd === -1) return
        const head = text.slice(0, headEnd)
        const end = headEnd + 4 + Number(/^content-length: (\\d+)$/im.exec(head)[1])
        if (text.length < end) return
        text = text.slice(end)
        if (seen) remember(head)
        socket.write(answer)
      }
    })
  })
  parentPort.on('message', (message) => {
    if (message === 'remember') seen = new Set()
    else parentPort.postMessage({ received: seen.size, repeats })
  })
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
