/** What one process can post at most: the same signed bytes, with undici alone. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { identifyBody } from '../../src/audiences/identify.ts'
import { messageRequest } from '../../src/delivery/post-message.ts'

/** As many as a sync has in flight. */
const concurrency = 32

const script = `
  const { Pool } = require('undici')
  const [origin, count, concurrency, request] = process.argv.slice(1)
  const { headers, body } = JSON.parse(request)
  const pool = new Pool(origin, { connections: Number(concurrency), pipelining: 1 })
  let left = Number(count)
  const work = async () => {
    while (left-- > 0) {
      const answer = await pool.request({ path: '/', method: 'POST', headers, body })
      await answer.body.dump()
    }
  }
  const startedAt = performance.now()
  Promise.all(Array.from({ length: Number(concurrency) }, work)).then(() => {
    process.stdout.write(String(Number(count) / ((performance.now() - startedAt) / 1000)))
    process.exit(0)
  })
`

/** @returns calls a second */
export async function measureBareLoop(url: string, count: number): Promise<number> {
  const audience = { id: 'aud_00000000000000000000', key: 'bench', kind: 'audience' as const }
  const message = identifyBody(
    { audience, syncId: 'sync_00000000000000000000', timestamp: new Date().toISOString() },
    { userId: 'user-000001', present: true, value: null, traits: null },
  )
  const { headers, body } = messageRequest({
    messageId: String(message['messageId']),
    message,
    endpoint: { url, headers: {} },
    secrets: [{ secret: 'bench-secret', until: null }],
    at: new Date(),
  })
  const request = JSON.stringify({ headers, body: body.toString('utf8') })
  const args = ['-e', script, new URL(url).origin, String(count), String(concurrency), request]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await once(child, 'close')
  return Number(output)
}
