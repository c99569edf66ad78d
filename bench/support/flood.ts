/** A flood of events at a node: posted as fast as it answers, until the last one is delivered. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from '../delivery/events.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import type { BenchNode } from './node.ts'
import { processorMs } from './processor.ts'
import { startBenchReceiver } from './receiver.ts'

/** How long a flood may take, in milliseconds. */
export const floodLimitMs = 600_000

export interface Flood {
  acceptedPerSecond: number
  deliveredPerSecond: number
  /** Of the node and its server together, for each event. */
  processorMs: number
}

export interface FloodOrder {
  /** How many events. */
  events: number
  /** Events in a request; 1: single calls. */
  batchSize: number
  /** Begins the message ids, which repeat those of other floods otherwise. */
  prefix: string
  /** How many users the events are of; one unless given. */
  users?: number
}

/** Posts events of a source of its own, and waits for all of them. */
export async function postFlood(node: BenchNode, { events, batchSize, prefix, users = 1 }: FloodOrder): Promise<Flood> {
  const receiver = await startBenchReceiver()
  const source = await connect(node, receiver.url)
  const load = fork(new URL('./load.ts', import.meta.url))
  await once(load, 'message')
  const pids = [node.process.pid ?? 0, await node.temporalPid()]
  const before = await processorMs(pids)
  const begun = performance.now()
  const order: LoadOrder = {
    url: node.url,
    writeKey: source.writeKey,
    connections: batchSize === 1 ? 50 : 8,
    batchSize,
    seconds: floodLimitMs / 1_000,
    events,
    prefix,
    users,
  }
  load.send(order)
  const [result] = (await once(load, 'message')) as [LoadResult]
  if (result.accepted < events) console.log('refused', result.refused)
  await receiver.arrived(result.accepted, floodLimitMs)
  const delivered = performance.now() - begun
  load.disconnect()
  receiver.stop()
  return {
    acceptedPerSecond: result.acceptedPerSecond,
    deliveredPerSecond: (result.accepted * 1_000) / delivered,
    processorMs: ((await processorMs(pids)) - before) / result.accepted,
  }
}
