/** The bounds of an endpoint while the node is killed, and while Temporal is away. */

import { expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { nodesOnOneFolder } from '../support/nodes-on-one-folder.ts'
import { startReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 300_000
const limitMs = 180_000
const events = 100
const maxPerSecond = 20

const idOf = ({ body }: ReceivedRequest): string => (JSON.parse(body.toString()) as { messageId: string }).messageId

/** Posts all events at once, and waits until a third has arrived. */
async function begin(node: NodeProcess, receiver: Receiver): Promise<Source> {
  const source = await node.createSource()
  await node.connect([source], [receiver.url], { options: { maxPerSecond } })
  const batch = Array.from({ length: events }, (_, n) => ({
    type: 'track',
    userId: `u${n}`,
    event: 'E',
    messageId: `e${n}`,
  }))
  expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
  await receiver.received(events / 3, limitMs)
  return source
}

/** Each has arrived, is shown as delivered, and they came no faster than they may since so many requests. */
async function expectDelivered(node: NodeProcess, receiver: Receiver, { id }: Source, since: number): Promise<void> {
  await until('all have arrived', () => new Set(receiver.requests.map(idOf)).size === events, limitMs)
  await until(
    'all are shown as delivered',
    async () => {
      const { body } = await node.api<Page<Delivery>>('GET', `/deliveries?sourceId=${id}&limit=200`)
      return body.items.length === events && body.items.every(({ status }) => status === 'delivered')
    },
    limitMs,
  )
  const times = receiver.requests.slice(since).map(({ arrivedAt }) => arrivedAt.getTime())
  const seconds = (Math.max(...times) - Math.min(...times)) / 1_000
  // What is on its way longer than what comes after it makes a rate look higher.
  expect((times.length - 1) / seconds).toBeLessThan(2 * maxPerSecond)
}

it('are kept by the node that comes after one that was killed', { timeout }, async () => {
  await using receiver = await startReceiver()
  const start = await nodesOnOneFolder()
  const before = await start()
  const source = await begin(before, receiver)
  await before.kill()
  const since = receiver.requests.length
  await expectDelivered(await start(), receiver, source, since)
})

it('are kept when Temporal is back', { timeout }, async () => {
  await using relay = await startTcpRelay(Number(temporalAddress().split(':')[1]))
  await using receiver = await startReceiver()
  const start = await nodesOnOneFolder({ TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}` })
  const node = await start()
  const source = await begin(node, receiver)
  relay.shut()
  await until('the node notices', async () => (await node.output()).includes('part.away'), limitMs)
  relay.open()
  await expectDelivered(node, receiver, source, 0)
})
