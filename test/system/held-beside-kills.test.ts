/** A node that is killed while it holds a destination by itself, and while that resumes. */

import { expect, it } from 'vitest'
import type { DestinationView } from '../../src/schemas/destination.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { nodesOnOneFolder } from '../support/nodes-on-one-folder.ts'
import { startReceiver, type Receiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { addChannel, changesOf, limitMs, noRules, setRules } from './alerts.ts'

const timeout = 300_000
const ids = Array.from({ length: 20 }, (_, index) => `waits-${index}`)

const idOf = ({ body }: ReceivedRequest): string => (JSON.parse(body.toString()) as { messageId: string }).messageId
const isProbe = (request: ReceivedRequest): boolean => idOf(request).startsWith('probe-')

/** A destination that is held, with events that wait; the operator is told of it. */
async function hold(node: NodeProcess, receiver: Receiver, operator: Receiver): Promise<string> {
  await addChannel(node, 'Operator', { kind: 'webhook', url: operator.url })
  await setRules(node, { ...noRules, destinationHeld: true })
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  const { id } = await node.connect([source], [receiver.url])
  await node.api('PATCH', `/destinations/${id}`, { onFailing: 'hold', holdAfterSeconds: 1 })
  for (const messageId of ids) await node.post('/track', source.writeKey, { messageId, userId: 'u1', event: 'E' })
  await until('it is held', async () => (await read(node, id)).held !== null, limitMs)
  await until('the operator was told', () => changesOf(operator, id).length === 1, limitMs)
  return id
}

const read = async (node: NodeProcess, id: string): Promise<DestinationView> =>
  (await node.api<DestinationView>('GET', `/destinations/${id}`)).body

/** All arrive once since `begun` requests had come, and the operator was told once of the hold and once of its end. */
async function expectAllOnce(receiver: Receiver, begun: number, operator: Receiver, id: string): Promise<void> {
  const arrived = (): string[] =>
    receiver.requests
      .slice(begun)
      .filter((request) => !isProbe(request))
      .map(idOf)
  await until('all have arrived', () => new Set(arrived()).size === ids.length, limitMs)
  await until('the operator was told of the end', () => changesOf(operator, id).length === 2, limitMs)
  expect(arrived().toSorted()).toEqual(ids.toSorted())
  expect(changesOf(operator, id)).toEqual(['opened', 'closed'])
}

it('goes on probing after its restart, and delivers what waited', { timeout }, async () => {
  await using receiver = await startReceiver()
  await using operator = await startReceiver()
  const start = await nodesOnOneFolder()
  const before = await start()
  const id = await hold(before, receiver, operator)
  await before.kill()

  const begun = receiver.requests.length
  receiver.answer({})
  const after = await start()
  await expectAllOnce(receiver, begun, operator, id)
  expect((await read(after, id)).held).toBeNull()
})

it('delivers what its first deliveries after the hold were cut off from', { timeout }, async () => {
  await using receiver = await startReceiver()
  await using operator = await startReceiver()
  const start = await nodesOnOneFolder()
  const before = await start()
  const id = await hold(before, receiver, operator)
  const held = receiver.requests.length
  receiver.answer((request) => (isProbe(request) ? {} : 'hang'))
  await until('it resumes', () => receiver.requests.slice(held).some((request) => !isProbe(request)), limitMs)
  await before.kill()

  const begun = receiver.requests.length
  receiver.answer({})
  await start()
  await expectAllOnce(receiver, begun, operator, id)
})
