/** A full inbox that drains while the node and its Temporal server are killed again and again. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../test/support/random.ts'
import type { Report } from '../support/figures.ts'
import { startLoad } from '../support/load-process.ts'
import { startNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { arrivalLimitMs, connect } from '../delivery/events.ts'

/** When nothing else arrives for so long, what is missing is lost, in milliseconds. */
const quietMs = 60_000

export interface KillsOptions {
  events: number
  kills: number
  /** Decides at which events the kills come. */
  seed: number
}

export async function measureKills(report: Report, { events, kills, seed }: KillsOptions): Promise<void> {
  console.log(`seed ${seed}`)
  const random = createRandom(seed)
  const points = Array.from({ length: kills }, () => Math.floor(random.between(0, events))).toSorted((a, b) => a - b)
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-bench-'))
  const environment = { POSTRIDER_INBOX_MAX: '10000000', LOG_LEVEL: 'fatal' }
  const receiver = await startBenchReceiver()
  const load = await startLoad()
  let node = await startNode(environment, dataDir)
  try {
    const { writeKey } = await connect(node, receiver.url)
    await node.stopTemporal()
    const order = { url: node.url, writeKey, connections: 10, batchSize: 100, seconds: 600, events, prefix: 'killed' }
    const { accepted } = await load.run(order)
    await node.continueTemporal()
    const begun = performance.now()
    for (const point of points) {
      await receiver.arrived(Math.min(point, accepted), arrivalLimitMs)
      await node.kill()
      node = await startNode(environment, dataDir)
    }
    await allOrQuiet(() => receiver.arrivals.size, accepted)
    const seconds = (performance.now() - begun) / 1_000
    // A repeat may come after the last event.
    await sleep(5_000)
    const repeats = receiver.requests() - receiver.arrivals.size
    report.add(`killed ${kills} times: accepted before`, accepted, 'events', { least: events })
    report.add(`killed ${kills} times: lost`, accepted - receiver.arrivals.size, 'events', { most: 0 })
    report.add(`killed ${kills} times: repeats`, repeats, 'requests')
    report.add(`killed ${kills} times: repeats`, (100 * repeats) / accepted, '%', { most: 1 })
    report.add(`killed ${kills} times: until all were delivered`, seconds, 's')
  } finally {
    load.stop()
    receiver.stop()
    await node.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** Resolves when all have arrived, or none for long. */
async function allOrQuiet(arrived: () => number, all: number): Promise<void> {
  let last = { count: arrived(), at: performance.now() }
  while (last.count < all && performance.now() - last.at < quietMs) {
    await sleep(100)
    if (arrived() > last.count) last = { count: arrived(), at: performance.now() }
  }
}
