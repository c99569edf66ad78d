/** `npm run bench`: what an event costs, its latency, deliveries per second beside references on the same server, what a
 *  bad endpoint does to a good one, memory of waiting deliveries. Everything in one run; quote the ratios.
 *  For a quick look: `npm run bench -- --only rate --events 500`. */

import { parseArgs } from 'node:util'
import { measureNeighbours } from './delivery/neighbours.ts'
import { measureCost, measureIdleLatency } from './delivery/one-event.ts'
import { measureThroughput } from './delivery/throughput.ts'
import { measureWaiting } from './delivery/waiting.ts'
import { openReport } from './support/figures.ts'
import { startNode } from './support/node.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'idle,rate,neighbours,waiting' },
    events: { type: 'string', default: '1500' },
    rounds: { type: 'string', default: '3' },
    waiting: { type: 'string', default: '20000' },
  },
})
const only = new Set(values.only.split(','))
const report = openReport('Deliveries')

const node = await startNode()
try {
  if (only.has('idle')) {
    await measureCost(node, report)
    await measureIdleLatency(node, report)
  }
  if (only.has('rate'))
    await measureThroughput(node, report, { events: Number(values.events), rounds: Number(values.rounds) })
  if (only.has('neighbours')) await measureNeighbours(node, report)
} finally {
  await node.stop()
}
if (only.has('waiting')) await measureWaiting(report, Number(values.waiting))
report.close()
