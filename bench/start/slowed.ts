/** Events that arrive more than once while the node is saturated and two other processes take the processor. */

import { spawn } from 'node:child_process'
import type { Report } from '../support/figures.ts'
import { startLoad } from '../support/load-process.ts'
import { startNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { arrivalLimitMs, connect } from '../delivery/events.ts'

export async function measureSlowed(report: Report, events: number): Promise<void> {
  const node = await startNode()
  const receiver = await startBenchReceiver()
  const load = await startLoad()
  const busy = [1, 2].map(() => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
  try {
    const { writeKey } = await connect(node, receiver.url)
    const order = { url: node.url, writeKey, seconds: 600 }
    const begun = performance.now()
    const singles = await load.run({ ...order, connections: 50, batchSize: 1, events, prefix: 'slowed-single' })
    const batches = await load.run({ ...order, connections: 10, batchSize: 100, events, prefix: 'slowed-batch' })
    const accepted = singles.accepted + batches.accepted
    await receiver.arrived(accepted, arrivalLimitMs)
    report.add('slowed down: delivered', accepted / ((performance.now() - begun) / 1_000), '/s')
    report.add('slowed down: requests beyond one per event', receiver.requests() - receiver.arrivals.size, '', {
      most: 0,
    })
  } finally {
    for (const child of busy) child.kill('SIGKILL')
    load.stop()
    receiver.stop()
    await node.stop()
  }
}
