/** The first events after a start, posted as soon as the node says that it is ready. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Report } from '../support/figures.ts'
import { startLoad } from '../support/load-process.ts'
import { startNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { arrivalLimitMs, connect } from '../delivery/events.ts'

const events = 500
const goalMs = 2_000

/** How they come. */
const manners = [
  { name: 'on 50 connections', connections: 50, batchSize: 1 },
  { name: 'on 500 connections', connections: events, batchSize: 1 },
  { name: 'in batches of 100', connections: 5, batchSize: 100 },
  { name: 'one after the other', connections: 1, batchSize: 1 },
]

export async function measureFirstEvents(report: Report, rounds: number): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-bench-'))
  const receiver = await startBenchReceiver()
  const load = await startLoad()
  try {
    const first = await startNode({}, dataDir)
    const { writeKey } = await connect(first, receiver.url)
    await first.stop()
    for (const { name, connections, batchSize } of manners) {
      const times: number[] = []
      for (let round = 0; round < rounds; round++) {
        const node = await startNode({}, dataDir)
        const before = receiver.arrivals.size
        const prefix = `first-${name}-${round}`
        await load.run({ url: node.url, writeKey, connections, batchSize, seconds: 600, events, prefix })
        const lastPost = performance.now()
        await receiver.arrived(before + events, arrivalLimitMs)
        times.push(performance.now() - lastPost)
        await node.stop()
      }
      report.add(`first ${events} events ${name}, last post to last arrival`, Math.max(...times), 'ms', {
        most: goalMs,
      })
    }
    report.add('first events: requests beyond one per event', receiver.requests() - receiver.arrivals.size, '', {
      most: 0,
    })
  } finally {
    load.stop()
    receiver.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}
