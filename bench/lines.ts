/** `npm run bench:lines`: a line of many events of one user at a destination that keeps their order. The endpoint takes none until all are
 *  accepted, and then each at once. With `DATABASE_URL` on that database. */

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { DestinationView } from '../src/schemas/destination.ts'
import type { Source } from '../src/schemas/source.ts'
import { openReport, quantile } from './support/figures.ts'
import type { LoadResult } from './support/load.ts'
import { startLoad } from './support/load-process.ts'
import { startNode } from './support/node.ts'
import { processorMs } from './support/processor.ts'
import { startBenchReceiver } from './support/receiver.ts'

const { values } = parseArgs({
  options: { events: { type: 'string', default: '100000' }, seconds: { type: 'string', default: '30' } },
})
const events = Number(values.events)
const seconds = Number(values.seconds)
const lists = 10

const load = await startLoad()
const write = async ({ writeKey }: Source, from: number, count: number): Promise<LoadResult> => {
  const order = { url: node.url, writeKey, connections: 4, batchSize: 100, seconds: 600, events: count }
  const result = await load.run({ ...order, prefix: `line-${from}` })
  if (Object.keys(result.refused).length > 0) throw new Error(`refused: ${JSON.stringify(result.refused)}`)
  return result
}

let isOpen = false
const receiver = await startBenchReceiver((_, response) => response.writeHead(isOpen ? 200 : 503).end())
const node = await startNode({ POSTRIDER_RETRY_INITIAL: '500ms', POSTRIDER_RETRY_MAX: '1s' })
const { pid = 0 } = node.process

/** How many a second arrive, and the processor time of the node for each, in milliseconds. */
async function measure(): Promise<{ rate: number; cost: number }> {
  const [before, requests] = [await processorMs([pid]), receiver.requests()]
  const begun = performance.now()
  await sleep(seconds * 1_000)
  const arrived = receiver.requests() - requests
  return {
    rate: (arrived * 1_000) / (performance.now() - begun),
    cost: ((await processorMs([pid])) - before) / arrived,
  }
}

const report = openReport(`A line of ${events} events of one user`)
try {
  const source = await node.api<Source>('POST', '/sources', { name: 'bench' })
  const settings = { webhooks: [{ url: receiver.url }] }
  const destination = { name: 'bench', type: 'webhooks', sourceIds: [source.id], settings }
  const { id } = await node.api<DestinationView>('POST', '/destinations', destination)
  await node.api('PATCH', `/destinations/${id}`, { orderPerUser: { maxWaitSeconds: 86_400 } })
  report.add('memory before', await node.memoryMb(), 'MB')
  const parts = 5
  for (let part = 0; part < parts; part++) {
    const from = (part * events) / parts
    const { acceptedPerSecond, p99Ms } = await write(source, from, events / parts)
    report.add(`accepted behind ${from}`, acceptedPerSecond, 'events/s')
    report.add(`p99 of a batch of 100 behind ${from}`, p99Ms, 'ms')
  }
  const times: number[] = []
  for (let n = 0; n < lists; n++) {
    const begun = performance.now()
    await node.api('GET', '/deliveries?status=queued&limit=50')
    times.push(performance.now() - begun)
  }
  report.add('a list of 50 that wait', quantile(times, 0.5), 'ms')
  report.add('memory with all waiting', await node.memoryMb(), 'MB')
  isOpen = true
  await receiver.arrived(receiver.arrivals.size + 1, 60_000)
  const { rate, cost } = await measure()
  report.add('delivered with all waiting', rate, 'events/s')
  report.add('processor time of the node for each', cost, 'ms')
  report.add('memory while delivering', await node.memoryMb(), 'MB')
} finally {
  await node.stop()
  receiver.stop()
  load.stop()
}
report.close()
