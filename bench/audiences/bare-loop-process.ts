/** The process of the bare loop: signs all requests first, then posts them with undici alone and prints calls a second. */

import { Pool } from 'undici'
import { changeMessageId, identifyBody, type IdentifyContext } from '../../src/audiences/identify.ts'
import { encodeBody } from '../../src/delivery/body.ts'
import { messageRequest } from '../../src/delivery/post-message.ts'
import { userId } from './members.ts'

const [url = '', count = '0', concurrency = '1'] = process.argv.slice(2)

const identify: IdentifyContext = {
  audience: { id: 'aud_00000000000000000000', key: 'bench', kind: 'audience' },
  syncId: 'sync_00000000000000000000',
  timestamp: new Date().toISOString(),
}
const requests = Array.from({ length: Number(count) }, (_, index) => {
  const { headers, body } = messageRequest({
    messageId: changeMessageId(identify, userId(index)),
    body: encodeBody(identifyBody(identify, { userId: userId(index), present: true, value: null, traits: null })),
    endpoint: { url, headers: {} },
    secrets: [{ secret: 'bench-secret', until: null }],
    at: new Date(),
  })
  return { headers, body: Buffer.from(body) }
})
const pool = new Pool(new URL(url).origin, { connections: Number(concurrency), pipelining: 1 })
const startedAt = performance.now()
const queue = requests.values()
await Promise.all(
  Array.from({ length: Number(concurrency) }, async () => {
    for (const { headers, body } of queue) {
      const answer = await pool.request({ path: '/', method: 'POST', headers, body })
      await answer.body.dump()
    }
  }),
)
console.log(requests.length / ((performance.now() - startedAt) / 1000))
await pool.close()
