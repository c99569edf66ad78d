/** `npm run bench:sizes`: what an event adds to the databases of an embedded node, in a workflow of its own and in a parcel. Each database
 *  is measured while nobody has it open. Linux only. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connect } from './delivery/events.ts'
import { databaseSizes, type DatabaseSizes } from './soak/samples.ts'
import { openReport } from './support/figures.ts'
import { startLoad } from './support/load-process.ts'
import { startNode } from './support/node.ts'
import { startBenchReceiver } from './support/receiver.ts'

const { values } = parseArgs({
  options: {
    /** Events in workflows of their own, and in parcels. */
    own: { type: 'string', default: '2000' },
    parcels: { type: 'string', default: '20000' },
    /** Users that the events are of. */
    users: { type: 'string', default: '1000' },
  },
})
const arrivalLimitMs = 600_000

const report = openReport('Sizes')
await measure('workflow of its own', { POSTRIDER_PARCELS: 'off' }, Number(values.own))
await measure('in parcels', {}, Number(values.parcels))
report.close()

async function measure(name: string, settings: Record<string, string>, events: number): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-sizes-'))
  try {
    // The first one makes the tables, and the pages that they begin with.
    await flood(dataDir, settings, Math.ceil(events / 10), 'warm')
    const before = await databaseSizes(dataDir)
    await flood(dataDir, settings, events, 'flood')
    const after = await databaseSizes(dataDir)
    const perEvent = (of: keyof DatabaseSizes): number => ((after[of] - before[of]) * 1_048_576) / events
    report.add(`${name}: database of Temporal`, perEvent('temporalMb'), 'bytes an event')
    report.add(`${name}: Postrider's database`, perEvent('databaseMb'), 'bytes an event')
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function flood(dataDir: string, settings: Record<string, string>, events: number, prefix: string): Promise<void> {
  const receiver = await startBenchReceiver()
  const load = await startLoad()
  const node = await startNode(settings, dataDir)
  try {
    const { writeKey } = await connect(node, receiver.url)
    const order = { url: node.url, writeKey, connections: 50, batchSize: 1, users: Number(values.users) }
    const { accepted, refused } = await load.run({ ...order, seconds: 600, events, prefix })
    if (accepted < events) console.log('refused', refused)
    await receiver.arrived(accepted, arrivalLimitMs)
  } finally {
    load.stop()
    receiver.stop()
    await node.stop()
  }
}
