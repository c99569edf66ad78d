/** `npm run bench:parcels`: floods that travel in parcels, beside the reference (a workflow with one regular activity per event)
 *  on the same server: accepted and delivered a second, and processor time per event of the node and its server. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { openReport, type Report } from './support/figures.ts'
import { floodLimitMs, postFlood, type Flood } from './support/flood.ts'
import { startNode } from './support/node.ts'
import { processorMs } from './support/processor.ts'
import { startBenchReceiver } from './support/receiver.ts'

const { values } = parseArgs({
  options: {
    singles: { type: 'string', default: '20000' },
    batched: { type: 'string', default: '50000' },
    reference: { type: 'string', default: '600' },
    rounds: { type: 'string', default: '2' },
  },
})

const report = openReport('Parcels')
const node = await startNode()
try {
  const reference = fork(new URL('./support/reference-worker.ts', import.meta.url), [node.temporalAddress])
  await once(reference, 'message')
  // The first round warms all up.
  for (let round = 0; round <= Number(values.rounds); round++) {
    const share = round === 0 ? 0.1 : 1
    const base = await referenceFlood(Number(values.reference) * share)
    const order = { batchSize: 1, events: Number(values.singles) * share, prefix: `flood-${round}-1` }
    const singles = await postFlood(node, order)
    const batched = await postFlood(node, {
      batchSize: 100,
      events: Number(values.batched) * share,
      prefix: `flood-${round}-100`,
    })
    if (round > 0) tell(report, base, singles, batched)
  }
  reference.disconnect()

  async function referenceFlood(events: number): Promise<Flood> {
    const receiver = await startBenchReceiver()
    const pids = [reference.pid ?? 0, await node.temporalPid()]
    const before = await processorMs(pids)
    const begun = performance.now()
    reference.send({ workflow: 'postOnce', eager: false, count: events, atATime: 50, url: receiver.url })
    await once(reference, 'message')
    const accepted = performance.now() - begun
    await receiver.arrived(events, floodLimitMs)
    const delivered = performance.now() - begun
    receiver.stop()
    return figuresOf(events, accepted, delivered, (await processorMs(pids)) - before)
  }
} finally {
  await node.stop()
}
report.close()

function figuresOf(events: number, acceptedMs: number, deliveredMs: number, spentMs: number): Flood {
  return {
    acceptedPerSecond: (events * 1_000) / acceptedMs,
    deliveredPerSecond: (events * 1_000) / deliveredMs,
    processorMs: spentMs / events,
  }
}

function tell(report: Report, reference: Flood, singles: Flood, batched: Flood): void {
  report.add('reference delivered', reference.deliveredPerSecond, '/s')
  report.add('reference, processor', reference.processorMs, 'ms an event')
  report.add('singles accepted', singles.acceptedPerSecond, '/s')
  report.add('singles delivered', singles.deliveredPerSecond, '/s')
  report.add('batches delivered', batched.deliveredPerSecond, '/s')
  report.add('singles accepted to reference', singles.acceptedPerSecond / reference.deliveredPerSecond, '', {
    least: 40,
  })
  report.add('singles delivered to reference', singles.deliveredPerSecond / reference.deliveredPerSecond, '', {
    least: 25,
  })
  report.add('batches delivered to reference', batched.deliveredPerSecond / reference.deliveredPerSecond, '', {
    least: 50,
  })
  report.add('singles, processor', singles.processorMs, 'ms an event')
  report.add('batches, processor', batched.processorMs, 'ms an event')
  report.add('processor of singles to reference', singles.processorMs / reference.processorMs, '', { most: 0.05 })
}
