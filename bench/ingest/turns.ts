/** A batch of one source, on an idle node and while 100,000 events of another source wait in the inbox. */

import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Source } from '../../src/schemas/source.ts'
import { connect } from '../delivery/events.ts'
import { quantile, type Report } from '../support/figures.ts'
import type { LoadOrder, LoadResult } from '../support/load.ts'
import type { BenchNode } from '../support/node.ts'
import { startBenchReceiver, type BenchReceiver } from '../support/receiver.ts'

const batchSize = 20
const samples = 15
const pauseMs = 500
const limitMs = 600_000

/** Until the drainer is in the middle of the flood, in milliseconds. */
const leadMs = 5_000

export interface TurnsOrder {
  node: BenchNode
  report: Report
  runLoad: (order: LoadOrder) => Promise<LoadResult>
  /** Events of the other source. */
  flood: number
}

export async function measureTurns({ node, report: { add }, runLoad, flood }: TurnsOrder): Promise<void> {
  const [receiver, flooded] = [await startBenchReceiver(), await startBenchReceiver()]
  const source = await connect(node, receiver.url)
  const { writeKey } = await connect(node, flooded.url)
  await timesOf(node, source, receiver, 'warm')
  const idle = await timesOf(node, source, receiver, 'idle')
  await node.stopTemporal()
  const order = {
    url: node.url,
    writeKey,
    connections: 10,
    batchSize: 100,
    seconds: 600,
    events: flood,
    prefix: 'flood',
  }
  const { accepted } = await runLoad(order)
  await node.continueTemporal()
  await sleep(leadMs)
  const delivered = flooded.arrivals.size
  const begun = performance.now()
  const beside = await timesOf(node, source, receiver, 'beside')
  const rate = ((flooded.arrivals.size - delivered) * 1_000) / (performance.now() - begun)
  add(`turns: waiting of another source`, accepted - flooded.arrivals.size, 'events')
  add(`turns: of which delivered meanwhile`, rate, 'events/s')
  add(`turns: batch of ${batchSize} on an idle node, median`, quantile(idle, 0.5), 'ms')
  add(`turns: beside the flood, median`, quantile(beside, 0.5), 'ms', { most: 2 * quantile(idle, 0.5) })
  receiver.stop()
  flooded.stop()
}

/** Milliseconds from the post of a batch until all of it has arrived. */
async function timesOf(node: BenchNode, source: Source, receiver: BenchReceiver, prefix: string): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < samples; n++) {
    const batch = Array.from({ length: batchSize }, (_, place) => ({
      type: 'track',
      messageId: `${prefix}-${n}-${place}`,
      userId: 'u1',
      event: 'Bench',
    }))
    const before = receiver.arrivals.size
    const at = performance.now()
    const { statusCode, body } = await request(`${node.url}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}` },
      body: JSON.stringify({ batch }),
    })
    if (statusCode !== 200) throw new Error(`${statusCode} ${await body.text()}`)
    await body.dump()
    await receiver.arrived(before + batchSize, limitMs)
    times.push(performance.now() - at)
    await sleep(pauseMs)
  }
  return times
}
