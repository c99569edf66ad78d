/** `npm run bench:sizes`: what an event adds to the databases, in a workflow of its own and in a parcel; embedded, and with a full Temporal
 *  server on PostgreSQL. The embedded databases are measured while nobody has them open. Linux only. */

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { openPostgres } from '../src/db/postgres.ts'
import { findTemporalCli } from '../src/temporal/cli-binary.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { startTemporalCluster } from '../test/support/temporal-cluster.ts'
import { provideTemporalServerBinaries } from '../test/support/temporal-server-binaries.ts'
import { connect } from './delivery/events.ts'
import { databaseSizes } from './soak/samples.ts'
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
    /** `embedded`, `postgres`, or both. */
    only: { type: 'string' },
  },
})
const arrivalLimitMs = 600_000

/** Where events are delivered. */
interface Installation {
  settings: Record<string, string>
  dataDir: string
  /** While no node runs. */
  sizes(): Promise<{ temporalMb: number; databaseMb: number }>
}

const report = openReport('Sizes')
if (values.only !== 'postgres') {
  await onEmbedded('off', Number(values.own))
  await onEmbedded('auto', Number(values.parcels))
}
if (values.only !== 'embedded') await onPostgres()
report.close()

async function onEmbedded(parcels: 'off' | 'auto', events: number): Promise<void> {
  await inFolder((dataDir) =>
    measure(`embedded, parcels ${parcels}`, events, {
      settings: { POSTRIDER_PARCELS: parcels },
      dataDir,
      sizes: () => databaseSizes(dataDir),
    }),
  )
}

async function onPostgres(): Promise<void> {
  const postgres = await startPostgres()
  const onProgress = (line: string): void => console.log(line)
  const cluster = await startTemporalCluster({
    postgres,
    binaries: await provideTemporalServerBinaries(onProgress),
    cli: await findTemporalCli({ env: process.env, onProgress }),
  })
  try {
    const databaseUrl = await postgres.createDatabase()
    const sizes: Installation['sizes'] = async () => ({
      temporalMb:
        (await sizeOfRowsMb(databaseUrl, 'temporal')) + (await sizeOfRowsMb(databaseUrl, 'temporal_visibility')),
      databaseMb: await sizeOfRowsMb(databaseUrl),
    })
    const settings = {
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: cluster.address,
      POSTRIDER_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      POSTRIDER_ALLOWED_NETWORKS: '127.0.0.0/8',
    }
    for (const [parcels, events] of [
      ['off', Number(values.own)],
      ['auto', Number(values.parcels)],
    ] as const)
      await inFolder((dataDir) =>
        measure(`PostgreSQL, parcels ${parcels}`, events, {
          settings: { ...settings, POSTRIDER_PARCELS: parcels },
          dataDir,
          sizes,
        }),
      )
  } finally {
    await cluster.stop()
    await postgres.stop()
  }
}

/** Without the room of rows that were changed or removed, which others fill later.
 *  @param name  of a database beside that of the URL; that one unless given */
async function sizeOfRowsMb(databaseUrl: string, name?: string): Promise<number> {
  const url = new URL(databaseUrl)
  if (name !== undefined) url.pathname = name
  const database = openPostgres(url.href, pino({ level: 'silent' }))
  try {
    await database.patient.query('vacuum full')
    const [row] = await database.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes')
    return Number(row?.bytes) / 1_048_576
  } finally {
    await database.close()
  }
}

async function inFolder(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-sizes-'))
  try {
    await work(dataDir)
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** The first flood makes tables and the room in them that is used again. */
async function measure(name: string, events: number, installation: Installation): Promise<void> {
  await flood(installation, Math.ceil(events / 4), 'warm')
  const before = await installation.sizes()
  await flood(installation, events, 'flood')
  const after = await installation.sizes()
  const perEvent = (of: 'temporalMb' | 'databaseMb'): number => ((after[of] - before[of]) * 1_048_576) / events
  report.add(`${name}: Temporal`, perEvent('temporalMb'), 'bytes an event')
  report.add(`${name}: Postrider's database`, perEvent('databaseMb'), 'bytes an event')
}

async function flood({ settings, dataDir }: Installation, events: number, prefix: string): Promise<void> {
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
