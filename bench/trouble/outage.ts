/** What deliveries cost that wait for an endpoint that is down. */

import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../delivery/events.ts'
import { processorMs } from '../support/processor.ts'
import { tellRecovery, type Trouble } from './flood.ts'

const limitMs = 300_000
const outageSeconds = 600

/** The default pauses, in seconds. */
const initialSeconds = 10
const longestSeconds = 15 * 60

/** How often the processor time is told, as a share of the outage. */
const parts = 5

/** @param scale  the pauses are so much of the default ones, and the outage of ten minutes */
export const scaledPauses = (scale: number): Record<string, string> => ({
  POSTRIDER_RETRY_INITIAL: `${Math.round(initialSeconds * scale * 1_000)}ms`,
  POSTRIDER_RETRY_MAX: `${Math.round(longestSeconds * scale * 1_000)}ms`,
})

/** @param trouble  of a node with scaled pauses */
export async function measureOutage(trouble: Trouble, events: number, scale: number): Promise<void> {
  const { node, report, receivers, runLoad } = trouble
  const add: typeof report.add = (name, ...figure) => report.add(`outage: ${name}`, ...figure)
  const down = await receivers.open('refuses')
  const { writeKey } = await connect(node, down.url)
  const pids = [node.process.pid ?? 0, await node.temporalPid()]
  const order = { url: node.url, writeKey, connections: 8, batchSize: 100, seconds: limitMs / 1_000, events }
  const { accepted, acceptedPerSecond } = await runLoad({ ...order, prefix: 'outage' })
  add('accepted', acceptedPerSecond, '/s')

  const partMs = (outageSeconds * 1_000 * scale) / parts
  let total = 0
  for (let part = 1; part <= parts; part++) {
    const [before, each] = [await processorMs(pids), await Promise.all(pids.map((pid) => processorMs([pid])))]
    await sleep(partMs)
    const spent = (await processorMs(pids)) - before
    total += spent
    const [ofNode = 0, ofServer = 0] = await Promise.all(
      pids.map(async (pid, index) => (await processorMs([pid])) - (each[index] ?? 0)),
    )
    add(`node, part ${part} of ${parts}`, ofNode / partMs, 'cores')
    add(`server, part ${part} of ${parts}`, ofServer / partMs, 'cores')
  }
  add(`${events} deliveries waiting, node and server`, total / (partMs * parts), 'cores', { most: 0.5 })
  await down.become('answers')
  const answersAt = performance.timeOrigin + performance.now()
  await down.hasTaken(accepted, limitMs).catch((error: unknown) => console.log(error))
  tellRecovery(add, await down.taken(), accepted, answersAt)
}
