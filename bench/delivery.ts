/** `npm run bench`: deliveries per second beside a reference on the same server, latency, what a bad endpoint does to a
 *  good one, memory of waiting deliveries. Everything in one run; quote the ratios. */

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import type { Source } from '../src/schemas/source.ts'
import { quantile, report, type Figure } from './support/figures.ts'
import { startNode, type BenchNode } from './support/node.ts'
import { startBenchReceiver } from './support/receiver.ts'

const count = Number(process.env['BENCH_EVENTS'] ?? 1_500)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const waiting = Number(process.env['BENCH_WAITING'] ?? 20_000)
const atATime = 32
const limitMs = 600_000

interface Posted {
  messageId: string
  at: number
}

async function connect(node: BenchNode, url: string): Promise<Source> {
  const source = await node.api<Source>('POST', '/sources', { name: 'bench' })
  await node.api('POST', '/destinations', {
    name: 'bench',
    type: 'webhooks',
    sourceIds: [source.id],
    settings: { webhooks: [{ url }] },
  })
  return source
}

async function post(node: BenchNode, source: Source, messageId: string): Promise<Posted> {
  const at = performance.now()
  const response = await fetch(`${node.url}/v1/track`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}` },
    body: JSON.stringify({ messageId, userId: 'u1', event: 'Bench', properties: { plan: 'pro', value: 19.5 } }),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  await response.arrayBuffer()
  return { messageId, at }
}

/** Posts with so many under way at a time. */
async function postMany(node: BenchNode, source: Source, prefix: string, total: number): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < total) await post(node, source, `${prefix}-${next++}`)
  }
  await Promise.all(Array.from({ length: atATime }, work))
}

async function deliveredPerSecond(node: BenchNode, round: number): Promise<number> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  const begun = performance.now()
  await postMany(node, source, `ours-${round}`, count)
  await receiver.arrived(count, limitMs)
  receiver.stop()
  return count / ((performance.now() - begun) / 1_000)
}

async function referencePerSecond(reference: ChildProcess, workflow: 'postOnce' | 'doNothing'): Promise<number> {
  const receiver = await startBenchReceiver()
  const begun = performance.now()
  reference.send({ workflow, eager: workflow === 'doNothing', count, atATime, url: receiver.url })
  await once(reference, 'message')
  if (workflow === 'postOnce') await receiver.arrived(count, limitMs)
  receiver.stop()
  return count / ((performance.now() - begun) / 1_000)
}

/** Posts at an even pace. */
async function postAtPace(node: BenchNode, source: Source, total: number, perSecond: number): Promise<Posted[]> {
  const prefix = `paced-${performance.now()}`
  const posted: Promise<Posted>[] = []
  for (let index = 0; index < total; index++) {
    posted.push(post(node, source, `${prefix}-${index}`))
    await sleep(1_000 / perSecond)
  }
  return Promise.all(posted)
}

/** Milliseconds from post to arrival, of events at an even pace. */
async function latencies(
  node: BenchNode,
  source: Source,
  arrivals: Map<string, number>,
  total: number,
  perSecond: number,
): Promise<number[]> {
  const all = await postAtPace(node, source, total, perSecond)
  const deadline = performance.now() + 60_000
  while (all.some(({ messageId }) => !arrivals.has(messageId)) && performance.now() < deadline) await sleep(20)
  return all.map(({ messageId, at }) => (arrivals.get(messageId) ?? Infinity) - at)
}

async function idleLatency(node: BenchNode): Promise<Figure[]> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  await latencies(node, source, receiver.arrivals, 50, 10)
  const times = await latencies(node, source, receiver.arrivals, 200, 10)
  receiver.stop()
  return [
    { name: 'idle, post to arrival, p50', value: quantile(times, 0.5), unit: 'ms', goal: { most: 15 } },
    { name: 'idle, post to arrival, p99', value: quantile(times, 0.99), unit: 'ms', goal: { most: 60 } },
  ]
}

/** A healthy endpoint beside one that hangs for 5 s on each of 50 requests a second. */
async function besideHanging(node: BenchNode): Promise<Figure[]> {
  const healthy = await startBenchReceiver()
  const hanging = await startBenchReceiver(() => {})
  const good = await connect(node, healthy.url)
  const bad = await connect(node, hanging.url)
  const alone = await latencies(node, good, healthy.arrivals, 200, 10)
  const flood = postAtPace(node, bad, 50 * 40, 50)
  await sleep(15_000)
  const beside = await latencies(node, good, healthy.arrivals, 200, 10)
  await flood
  healthy.stop()
  hanging.stop()
  const [p97Alone, p97] = [quantile(alone, 0.97), quantile(beside, 0.97)]
  return [
    { name: 'healthy endpoint alone, p97', value: p97Alone, unit: 'ms' },
    { name: 'beside a hanging one, p97', value: p97, unit: 'ms', goal: { most: 3 * Math.max(35, p97Alone) } },
  ]
}

/** Cost of one event whose first round succeeds. */
async function costOfOne(node: BenchNode): Promise<Figure[]> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  await post(node, source, 'cost-1')
  await receiver.arrived(1, limitMs)
  await sleep(1_000)
  const connection = await Connection.connect({ address: node.temporalAddress })
  const { workflowExecutionInfo: info } = await connection.workflowService.describeWorkflowExecution({
    namespace: 'default',
    execution: { workflowId: `event/${source.id}/cost-1` },
  })
  const { history } = await connection.workflowService.getWorkflowExecutionHistory({
    namespace: 'default',
    execution: { workflowId: `event/${source.id}/cost-1` },
  })
  await connection.close()
  receiver.stop()
  const input = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data?.length ?? 0
  return [
    { name: 'state transitions of an event', value: Number(info?.stateTransitionCount), unit: '', goal: { most: 2 } },
    {
      name: 'history beyond the payload',
      value: Number(info?.historySizeBytes) - input,
      unit: 'B',
      goal: { most: 2_560 },
    },
  ]
}

async function memoryOfWaiting(): Promise<Figure[]> {
  const node = await startNode({ POSTRIDER_RETRY_INITIAL: '1h', POSTRIDER_RETRY_MAX: '1h' })
  const down = await startBenchReceiver((_, response) => response.writeHead(503).end())
  const source = await connect(node, down.url)
  await postMany(node, source, 'warm', 200)
  await down.arrived(200, limitMs)
  await sleep(5_000)
  const idle = await node.memoryMb()
  await postMany(node, source, 'waiting', waiting)
  await down.arrived(waiting + 200, limitMs)
  await sleep(5_000)
  const loaded = await node.memoryMb()
  down.stop()
  await node.stop()
  return [
    { name: 'idle node, resident', value: idle, unit: 'MB' },
    { name: `${waiting} waiting deliveries add`, value: loaded - idle, unit: 'MB', goal: { most: 300 } },
  ]
}

const node = await startNode()
const reference = fork(new URL('./support/reference-worker.ts', import.meta.url), [node.temporalAddress])
await once(reference, 'message')

const figures: Figure[] = [...(await costOfOne(node)), ...(await idleLatency(node))]
const rates: { ours: number; reference: number; empty: number }[] = []
for (let round = 0; round < rounds; round++)
  rates.push({
    ours: await deliveredPerSecond(node, round),
    reference: await referencePerSecond(reference, 'postOnce'),
    empty: await referencePerSecond(reference, 'doNothing'),
  })
const median = (pick: (rate: (typeof rates)[number]) => number): number => quantile(rates.map(pick), 0.5)
figures.push(
  { name: 'delivered, through the ingest API', value: median(({ ours }) => ours), unit: '/s' },
  { name: 'reference: one regular activity', value: median((rate) => rate.reference), unit: '/s' },
  { name: 'empty workflow, eager', value: median(({ empty }) => empty), unit: '/s' },
  { name: 'ours to reference', value: median((rate) => rate.ours / rate.reference), unit: '', goal: { least: 1.2 } },
  { name: 'ours to empty workflow', value: median((rate) => rate.ours / rate.empty), unit: '', goal: { least: 0.75 } },
)
reference.disconnect()
figures.push(...(await besideHanging(node)))
await node.stop()
if (waiting > 0) figures.push(...(await memoryOfWaiting()))
report('Deliveries', figures)
