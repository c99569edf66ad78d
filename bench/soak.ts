/** `npm run soak`: half an hour at 70 % of the highest rate of single calls, everything embedded. It tells at intervals what node and
 *  server take of the machine, and judges by the last third beside the middle one whether that levels off; exit code 1 if it does not, if the load did not keep up,
 *  if a call was refused, or if an acknowledged event did not arrive. For a quick look: `npm run soak -- --minutes 3 --interval 5`. Linux only. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect } from './delivery/events.ts'
import { judge } from './soak/judge.ts'
import { takeSample, type Sample } from './soak/samples.ts'
import type { LoadResult } from './support/load.ts'
import { startLoad } from './support/load-process.ts'
import { startNode } from './support/node.ts'
import { startBenchReceiver } from './support/receiver.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    /** Of the highest rate. */
    share: { type: 'string', default: '0.7' },
    /** Events of the flood whose rate of delivery counts as the highest. */
    flood: { type: 'string', default: '20000' },
    /** Events a second, instead of finding the highest rate. */
    rate: { type: 'string' },
    /** Seconds between two looks. */
    interval: { type: 'string', default: '15' },
  },
})
const seconds = Number(values.minutes) * 60
const intervalMs = Number(values.interval) * 1_000
const connections = 50
/** Each has a key of its own. */
const users = 5_000
/** In fewer minutes than these caches still fill, and tables grow in waves: what is found is told, and not judged. */
const leastMinutes = 20
/** The load must keep up with this share of the rate, or the node was not under it. */
const leastShare = 0.95
/** How long the last events may take, in milliseconds. */
const arrivalLimitMs = 300_000

const dataDir = await mkdtemp(join(tmpdir(), 'postrider-soak-'))
const receiver = await startBenchReceiver()
const load = await startLoad()
const node = await startNode({}, dataDir)
try {
  const source = await connect(node, receiver.url)
  const order = { url: node.url, writeKey: source.writeKey, connections, batchSize: 1, users }
  const rate = values.rate === undefined ? Number(values.share) * (await highestRate()) : Number(values.rate)
  console.log(`\n${Math.round(rate)} events/s for ${values.minutes} minutes\n`)

  const before = receiver.arrivals.size
  const begun = performance.now()
  const samples: Sample[] = []
  let result: LoadResult | undefined
  const soaking = load.run({ ...order, seconds, perSecond: rate, prefix: 'soak' }).then((done) => (result = done))
  while (result === undefined) {
    await Promise.race([sleep(intervalMs), soaking])
    samples.push(await look((performance.now() - begun) / 1_000, receiver.arrivals.size - before))
  }
  await receiver.arrived(before + result.accepted, arrivalLimitMs).catch(() => {})
  tell(samples, result, before + result.accepted - receiver.arrivals.size, rate)

  /** Delivered a second of a flood, once after a smaller one that warms up. */
  async function highestRate(): Promise<number> {
    await flood('warm', Number(values.flood) / 10)
    return flood('flood', Number(values.flood))
  }

  async function flood(prefix: string, events: number): Promise<number> {
    const already = receiver.arrivals.size
    const from = performance.now()
    const { accepted, refused } = await load.run({ ...order, seconds: 600, events, prefix })
    tellRefused(refused)
    await receiver.arrived(already + accepted, arrivalLimitMs)
    const perSecond = (accepted * 1_000) / (performance.now() - from)
    console.log(`${prefix}: ${accepted} events, ${Math.round(perSecond)} delivered a second`)
    return perSecond
  }
} finally {
  load.stop()
  receiver.stop()
  await node.stop()
  await rm(dataDir, { recursive: true, force: true })
}

async function look(atSeconds: number, delivered: number): Promise<Sample> {
  const soaked = { node: node.process.pid ?? 0, server: await node.temporalPid(), dataDir }
  const sample = await takeSample(soaked, { seconds: atSeconds, delivered })
  console.log(
    Object.entries<number>({ ...sample })
      .map(([name, value]) => `${name} ${Math.round(value)}`)
      .join('  '),
  )
  return sample
}

/** Prints the table and the verdicts; sets the exit code. */
function tell(samples: readonly Sample[], result: LoadResult, lost: number, rate: number): void {
  const rounded = (value: number): number => Math.round(value * 10) / 10
  console.table(
    samples.map((sample) =>
      Object.fromEntries(Object.entries<number>({ ...sample }).map(([name, value]) => [name, rounded(value)])),
    ),
  )
  const verdicts = judge(samples)
  console.table(
    verdicts.map(({ figure, unit, middle, last, most, hasLevelledOff }) => ({
      figure: `${figure}${unit && `, ${unit}`}`,
      'middle third': rounded(middle),
      'last third': rounded(last),
      'at most': rounded(most),
      'levels off': hasLevelledOff ? 'yes' : 'NO',
    })),
  )
  const repeats = receiver.requests() - receiver.arrivals.size
  const { accepted, acceptedPerSecond, refused, p50Ms, p99Ms } = result
  console.log(
    `accepted ${accepted}, ${Math.round(acceptedPerSecond)} of ${Math.round(rate)} a second, ` +
      `answers p50 ${Math.round(p50Ms)} ms, p99 ${Math.round(p99Ms)} ms; not arrived ${lost}, repeats ${repeats}`,
  )
  tellRefused(refused)
  const isJudged = Number(values.minutes) >= leastMinutes
  if (!isJudged) console.log(`too short to judge what levels off: at least ${leastMinutes} minutes`)
  const isSteady = !isJudged || verdicts.every(({ hasLevelledOff }) => hasLevelledOff)
  if (lost > 0 || !isSteady || acceptedPerSecond < leastShare * rate) process.exitCode = 1
}

/** Nothing is to be refused while the machine has memory and the inbox room, also when it is saturated. */
function tellRefused(refused: LoadResult['refused']): void {
  if (Object.keys(refused).length === 0) return
  console.log('other answers', refused)
  process.exitCode = 1
}
