/**
 * 20,000 track calls over 100 s to a node, which is killed in the middle and away for 60 s. Exits with 1 unless each
 * of them reaches the endpoint, the node made one delivery of each, and none is reported as lost. Needs `npm run build`.
 */

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Analytics } from '@postrider/analytics'
import { startNode } from '../../bench/support/node.ts'
import { startBenchReceiver } from '../../bench/support/receiver.ts'

const CALLS = 20_000
const CALLS_PER_SECOND = 200
const AWAY_FROM = 4_000
const AWAY_SECONDS = 60
/** How long the node may take to deliver what waits, and to count what came last, in milliseconds. */
const DELIVERY_LIMIT_MS = 600_000
const COUNT_LIMIT_MS = 60_000

const dataDir = await mkdtemp(join(tmpdir(), 'postrider-outage-'))
const receiver = await startBenchReceiver()
let node = await startNode({}, dataDir)
const { writeKey, id: sourceId } = await node.api<{ writeKey: string; id: string }>('POST', '/sources', {
  name: 'Shop',
})
await node.api('POST', '/destinations', {
  name: 'Receiver',
  type: 'webhooks',
  sourceIds: [sourceId],
  settings: { webhooks: [{ url: receiver.url }] },
})
const count = async () => (await node.api<{ count: number }>('GET', `/deliveries/count?sourceId=${sourceId}`)).count

let lost = 0
const onError = (error: { messages: readonly object[] }) => (lost += error.messages.length)
const analytics = new Analytics(writeKey, { endpoint: node.url, onError })
for (let i = 0; i < CALLS; i++) {
  analytics.track({ userId: `user-${i % 1_000}`, event: 'Order Completed' })
  if (i % 10 === 0) await sleep(10_000 / CALLS_PER_SECOND)
  if (i === AWAY_FROM) {
    node.process.kill('SIGKILL')
    await once(node.process, 'exit')
    console.log(`node killed, ${analytics.stats.delivered} delivered`)
  }
  if (i === AWAY_FROM + AWAY_SECONDS * CALLS_PER_SECOND) {
    console.log(`node started again, ${analytics.stats.pending} wait`)
    node = await startNode({ PORT: new URL(node.url).port }, dataDir)
  }
}
await analytics.close({ timeoutMs: 60_000 })
await receiver.arrived(CALLS, DELIVERY_LIMIT_MS)
// What moves from the inbox to Temporal may count in both for a moment.
const deadline = performance.now() + COUNT_LIMIT_MS
let deliveries = await count()
while (deliveries !== CALLS && performance.now() < deadline) {
  await sleep(1_000)
  deliveries = await count()
}
console.log({ calls: CALLS, deliveries, arrived: receiver.arrivals.size, requests: receiver.requests(), lost })
process.exitCode = deliveries === CALLS && lost === 0 ? 0 : 1
await node.stop()
receiver.stop()
await rm(dataDir, { recursive: true, force: true })
