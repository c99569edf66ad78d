/** A healthy endpoint beside one that hangs on each of 50 requests a second. */

import { setTimeout as sleep } from 'node:timers/promises'
import { quantile, type Report } from '../support/figures.ts'
import type { BenchNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { connect, latencies, postAtPace } from './events.ts'

const floodPerSecond = 50
const samples = 200
const samplesPerSecond = 10

/** Long enough for the hanging endpoint to have used up its turns, in milliseconds. */
const leadMs = 10_000

export async function measureNeighbours(node: BenchNode, { add }: Report): Promise<void> {
  const healthy = await startBenchReceiver()
  const hanging = await startBenchReceiver(() => {})
  const good = await connect(node, healthy.url)
  const bad = await connect(node, hanging.url)
  const alone = quantile(await latencies(node, good, healthy.arrivals, samples, samplesPerSecond), 0.97)
  const floodSeconds = leadMs / 1_000 + samples / samplesPerSecond
  const flood = postAtPace(node, bad, floodPerSecond * floodSeconds, floodPerSecond)
  await sleep(leadMs)
  const beside = quantile(await latencies(node, good, healthy.arrivals, samples, samplesPerSecond), 0.97)
  await flood
  healthy.stop()
  hanging.stop()
  add('healthy endpoint alone, p97', alone, 'ms')
  add('beside a hanging one, p97', beside, 'ms', { most: 3 * Math.max(35, alone) })
}
