/** A node that is killed between the change of a state and its telling, and while it tells. */

import { expect, it } from 'vitest'
import type { NodeProcess } from '../support/node-process.ts'
import { nodesOnOneFolder } from '../support/nodes-on-one-folder.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { addChannel, changesOf, limitMs, noRules, setRules, untilAlert } from './alerts.ts'

/** A source of which an alert begins: its old key is about to end. */
async function endingKey(node: NodeProcess, name: string): Promise<string> {
  const { id } = await node.createSource(name)
  await node.api('POST', `/sources/${id}/rotate-key`, { overlapSeconds: 3_600 })
  return id
}

const keyEnding = { ...noRules, keyEndingWithinSeconds: 86_400 }

it('tells once what was written down and not told when it was killed', async () => {
  await using relay = await startTcpRelay(Number(temporalAddress().split(':')[1]))
  await using webhook = await startReceiver()
  const start = await nodesOnOneFolder({ TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}` })
  const before = await start()
  await addChannel(before, 'Hook', { kind: 'webhook', url: webhook.url })
  await setRules(before, keyEnding)
  // Without Temporal the change is seen and stands in the database, and no telling can begin.
  relay.shut()
  const first = await endingKey(before, 'First')
  await untilAlert(before, first, false)
  await before.kill()
  expect(webhook.requests).toHaveLength(0)

  relay.open()
  const after = await start()
  await webhook.received(1, limitMs)
  // What is told after it shows that it had its turn.
  const second = await endingKey(after, 'Second')
  await webhook.received(2, limitMs)
  expect(changesOf(webhook, first)).toEqual(['opened'])
  expect(changesOf(webhook, second)).toEqual(['opened'])
})

it('tells again, under the same id, what was on its way when it was killed', async () => {
  await using webhook = await startReceiver()
  webhook.answer('hang')
  const start = await nodesOnOneFolder()
  const before = await start()
  await addChannel(before, 'Hook', { kind: 'webhook', url: webhook.url })
  await setRules(before, keyEnding)
  await endingKey(before, 'Cut off')
  await webhook.received(1, limitMs)
  await before.kill()

  const tried = webhook.requests.length
  webhook.answer({})
  await start()
  const requests = await webhook.received(tried + 1, limitMs)
  const [first, again] = [requests[0], requests[tried]]
  expect(again?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  expect(again?.body).toEqual(first?.body)
})
