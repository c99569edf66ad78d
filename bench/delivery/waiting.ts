/** Memory of deliveries that wait for an endpoint that is down. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '../support/figures.ts'
import { startNode } from '../support/node.ts'
import { startBenchReceiver } from '../support/receiver.ts'
import { arrivalLimitMs, connect, postMany } from './events.ts'

const atATime = 32
const warmUp = 200
const calmDownMs = 5_000

export async function measureWaiting(report: Report, events: number): Promise<void> {
  const node = await startNode({ POSTRIDER_RETRY_INITIAL: '1h', POSTRIDER_RETRY_MAX: '1h' })
  const down = await startBenchReceiver((_, response) => response.writeHead(503).end())
  try {
    const source = await connect(node, down.url)
    await postMany(node, source, 'warm', warmUp, atATime)
    await down.arrived(warmUp, arrivalLimitMs)
    await sleep(calmDownMs)
    const idle = await node.memoryMb()
    report.add('idle node, resident', idle, 'MB')
    const begun = performance.now()
    await postMany(node, source, 'waiting', events, atATime)
    await down.arrived(warmUp + events, arrivalLimitMs)
    report.add('first attempts at an endpoint that is down', events / ((performance.now() - begun) / 1_000), '/s')
    await sleep(calmDownMs)
    report.add(`${events} waiting deliveries add`, (await node.memoryMb()) - idle, 'MB', { most: 300 })
  } finally {
    down.stop()
    await node.stop()
  }
}
