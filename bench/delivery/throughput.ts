/** Deliveries per second, saturated, beside two references on the same server, in turns. */

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { quantile, type Report } from '../support/figures.ts'
import type { BenchNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { arrivalLimitMs, connect, postMany } from './events.ts'

/** Posts, or starts of the reference, under way at a time. */
const atATime = 32

interface Rates {
  ours: number
  reference: number
  empty: number
}

export async function measureThroughput(
  node: BenchNode,
  report: Report,
  { events, rounds }: { events: number; rounds: number },
): Promise<void> {
  const reference = fork(new URL('../support/reference-worker.ts', import.meta.url), [node.temporalAddress])
  await once(reference, 'message')
  const all: Rates[] = []
  // The first round warms all three up.
  for (let round = 0; round <= rounds; round++) {
    const ours = await deliveredPerSecond(node, round, events)
    const postOnce = await referencePerSecond(reference, 'postOnce', events)
    const empty = await referencePerSecond(reference, 'doNothing', events)
    if (round === 0) continue
    all.push({ ours, reference: postOnce, empty })
    console.log(
      `round ${round}: ours ${ours.toFixed(1)}, reference ${postOnce.toFixed(1)}, empty ${empty.toFixed(1)} /s`,
    )
  }
  reference.disconnect()
  const median = (pick: (rates: Rates) => number): number => quantile(all.map(pick), 0.5)
  report.add(
    'delivered, through the ingest API',
    median(({ ours }) => ours),
    '/s',
  )
  report.add(
    'reference: one regular activity',
    median((rates) => rates.reference),
    '/s',
  )
  report.add(
    'empty workflow, eager',
    median(({ empty }) => empty),
    '/s',
  )
  report.add(
    'ours to reference',
    median((rates) => rates.ours / rates.reference),
    '',
    { least: 1.2 },
  )
  report.add(
    'ours to empty workflow',
    median((rates) => rates.ours / rates.empty),
    '',
    { least: 0.75 },
  )
}

async function deliveredPerSecond(node: BenchNode, round: number, events: number): Promise<number> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  const begun = performance.now()
  await postMany(node, source, `ours-${round}`, events, atATime)
  await receiver.arrived(events, arrivalLimitMs)
  receiver.stop()
  return events / ((performance.now() - begun) / 1_000)
}

async function referencePerSecond(
  reference: ChildProcess,
  workflow: 'postOnce' | 'doNothing',
  events: number,
): Promise<number> {
  const receiver = await startBenchReceiver()
  const begun = performance.now()
  reference.send({ workflow, eager: workflow === 'doNothing', count: events, atATime, url: receiver.url })
  await once(reference, 'message')
  if (workflow === 'postOnce') await receiver.arrived(events, arrivalLimitMs)
  receiver.stop()
  return events / ((performance.now() - begun) / 1_000)
}
