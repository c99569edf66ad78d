/** `npm run bench:ingest`: accepted events per second and the time of the answer, beside a bare route that parses the
 *  same JSON, with Temporal up and stopped; then 20,000 events that come while it is stopped, until all are delivered;
 *  then a batch of one source beside 100,000 waiting events of another. Everything in one run; quote the ratios. For a
 *  quick look: `npm run bench:ingest -- --only bare,up --seconds 3`. */

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Source } from '../src/schemas/source.ts'
import { connect } from './delivery/events.ts'
import { measureTurns } from './ingest/turns.ts'
import { openReport } from './support/figures.ts'
import type { LoadOrder, LoadResult } from './support/load.ts'
import { startNode, type BenchNode } from './support/node.ts'
import { startBenchReceiver, type BenchReceiver } from './support/receiver.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'bare,backlog,up,stopped,turns' },
    seconds: { type: 'string', default: '10' },
    backlog: { type: 'string', default: '20000' },
    flood: { type: 'string', default: '100000' },
  },
})
const only = new Set(values.only.split(','))
const seconds = Number(values.seconds)
const backlog = Number(values.backlog)
const singleConnections = 50
const batchConnections = 10
const batchSize = 100
const drainLimitMs = 1_800_000
const memoryPollMs = 250

const fileOf = (name: string): string => fileURLToPath(new URL(`./support/${name}`, import.meta.url))
const startChild = async <Message>(name: string): Promise<[ChildProcess, Message]> => {
  const child = fork(fileOf(name), { execArgv: ['--import', 'tsx'] })
  const [message] = (await once(child, 'message')) as [Message]
  return [child, message]
}

const report = openReport('Ingest')
const { add } = report

const [load] = await startChild('load.ts')
const runLoad = async (order: LoadOrder): Promise<LoadResult> => {
  load.send(order)
  const [result] = (await once(load, 'message')) as [LoadResult]
  return result
}

let run = 0
async function measure(name: string, url: string, writeKey: string, size: number, goal?: number): Promise<void> {
  const connections = size === 1 ? singleConnections : batchConnections
  const prefix = `run-${++run}`
  const order = { url, writeKey, connections, batchSize: size, prefix }
  await runLoad({ ...order, prefix: `${prefix}-warm`, seconds: seconds / 5 })
  const result = await runLoad({ ...order, seconds })
  add(`${name}: accepted`, result.acceptedPerSecond, 'events/s', goal === undefined ? undefined : { least: goal })
  add(`${name}: p50 of the answer`, result.p50Ms, 'ms')
  add(`${name}: p99 of the answer`, result.p99Ms, 'ms', goal === undefined ? undefined : { most: 250 })
  const refused = Object.entries(result.refused)
  if (goal !== undefined) add(`${name}: other answers`, refused.length, 'kinds', { most: 0 })
  if (refused.length > 0) console.log(name, result.refused)
}

/** Singles and batches, each of a source of its own. */
async function measureBoth(node: BenchNode, receiver: BenchReceiver, name: string): Promise<void> {
  const [ofSingles, ofBatches] = [await connect(node, receiver.url), await connect(node, receiver.url)]
  await measure(`${name}, singles`, node.url, ofSingles.writeKey, 1, 1_500)
  await measure(`${name}, batches of 100`, node.url, ofBatches.writeKey, batchSize, 10_000)
}

async function untilDrained(node: BenchNode): Promise<void> {
  const deadline = performance.now() + drainLimitMs
  for (;;) {
    const { count } = await node.api<{ count: number }>('GET', '/deliveries/count?status=queued')
    if (count === 0) return
    if (performance.now() > deadline) throw new Error(`${count} events are still queued`)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** Events that come while Temporal is stopped, until each is delivered. */
async function measureBacklog(node: BenchNode, receiver: BenchReceiver, source: Source): Promise<void> {
  const idleMb = await node.memoryMb()
  let mostMb = idleMb
  const poll = setInterval(() => void node.memoryMb().then((mb) => (mostMb = Math.max(mostMb, mb))), memoryPollMs)
  const before = receiver.arrivals.size
  await node.stopTemporal()
  const order = { url: node.url, writeKey: source.writeKey, connections: singleConnections, batchSize: 1 }
  const result = await runLoad({ ...order, seconds: 600, events: backlog, prefix: 'backlog' })
  await node.continueTemporal()
  const begun = performance.now()
  await receiver.arrived(before + result.accepted, drainLimitMs)
  const drainSeconds = (performance.now() - begun) / 1_000
  await untilDrained(node)
  clearInterval(poll)
  add('backlog: accepted while Temporal is stopped', result.accepted, 'events', { least: backlog })
  add('backlog: p99 of the answer', result.p99Ms, 'ms', { most: 250 })
  add('backlog: delivered afterwards', result.accepted / drainSeconds, 'events/s')
  add('backlog: requests beyond one per event', receiver.requests() - receiver.arrivals.size, 'requests', { most: 0 })
  add('backlog: most memory above idle', mostMb - idleMb, 'MB', { most: 200 })
}

/** A batch of one source beside what waits of another, on a node of their own. */
async function measureTurnsOfSources(): Promise<void> {
  const node = await startNode()
  try {
    await measureTurns({ node, report, runLoad, flood: Number(values.flood) })
  } finally {
    await node.stop()
  }
}

const [bare, { url: bareUrl }] = await startChild<{ url: string }>('bare-route.ts')
const receiver = await startBenchReceiver()
const node = await startNode({ POSTRIDER_INBOX_MAX: '10000000' })
try {
  if (only.has('bare')) {
    await measure('bare route, singles', bareUrl, 'none', 1)
    await measure('bare route, batches of 100', bareUrl, 'none', batchSize)
  }
  // The backlog first: it waits for its own events, and the others leave more than can be delivered meanwhile.
  if (only.has('backlog')) await measureBacklog(node, receiver, await connect(node, receiver.url))
  if (only.has('up')) await measureBoth(node, receiver, 'Temporal up')
  if (only.has('stopped')) {
    await node.stopTemporal()
    await measureBoth(node, receiver, 'Temporal stopped')
  }
} finally {
  // A server that is suspended does not end.
  await node.continueTemporal()
  bare.disconnect()
  receiver.stop()
  await node.stop()
}
if (only.has('turns')) await measureTurnsOfSources()
load.disconnect()
report.close()
