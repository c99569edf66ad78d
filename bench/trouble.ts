/** `npm run bench:trouble`: what endpoints that refuse connections or hang do to the node and to healthy ones, and what becomes of
 *  the events that wait for them. In a minute or two: `npm run bench:trouble -- --only refuses --events 3000 --outage 10`. */

import { parseArgs } from 'node:util'
import { openReport } from './support/figures.ts'
import type { LoadOrder, LoadResult } from './support/load.ts'
import { startLoad } from './support/load-process.ts'
import { startNode } from './support/node.ts'
import { measureFlood, type Trouble } from './trouble/flood.ts'
import { measureHosts } from './trouble/hosts.ts'
import { measureOutage, scaledPauses } from './trouble/outage.ts'
import { startReceivers } from './trouble/receivers.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'refuses,hangs,hosts,outage' },
    /** Of each flood. */
    events: { type: 'string', default: '30000' },
    /** Seconds from the end of a flood until its endpoint answers. */
    outage: { type: 'string', default: '60' },
    /** How long healthy endpoints are watched beside those that hang. */
    seconds: { type: 'string', default: '40' },
    waiting: { type: 'string', default: '20000' },
    /** The default pauses and an outage of ten minutes are made so many times as long. */
    scale: { type: 'string', default: '1' },
  },
})
const only = new Set(values.only.split(','))
const report = openReport('Trouble')
const receivers = startReceivers()

const flood = { events: Number(values.events), outageMs: Number(values.outage) * 1_000 }
for (const conduct of ['refuses', 'hangs'] as const)
  if (only.has(conduct)) await withNode({}, (trouble) => measureFlood(trouble, { conduct, ...flood }))
if (only.has('hosts')) await withNode({}, (trouble) => measureHosts(trouble, Number(values.seconds)))
const scale = Number(values.scale)
if (only.has('outage'))
  await withNode(scaledPauses(scale), (trouble) => measureOutage(trouble, Number(values.waiting), scale))
receivers.stop()
report.close()

async function withNode(environment: Record<string, string>, measure: (trouble: Trouble) => Promise<void>) {
  const node = await startNode(environment)
  try {
    await measure({ node, report, receivers, runLoad })
  } finally {
    await node.stop()
  }
}

async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const load = await startLoad()
  try {
    return await load.run(order)
  } finally {
    load.stop()
  }
}
