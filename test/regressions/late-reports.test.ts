/** Symptom: an endpoint got events twice while Temporal or the node was slow, hundreds of them while a backlog was worked off.
 *  Cause: a task whose report comes after its time limit is given out again, and the attempt was made again with it.
 *  Consequence: repeats, and more load on what was slow already. */

import { rm } from 'node:fs/promises'
import { Client, Connection } from '@temporalio/client'
import { temporal as protocol } from '@temporalio/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeDataFolder } from '../support/app.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import { startReceiver } from '../support/receiver.ts'
import { testConverter } from '../support/sealed-payloads.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { onlyDeliveryOf, type DeliveryHandle } from '../system/deliveries.ts'

/** Temporal gives a task up after 10 s. */
const givenUpLimitMs = 60_000

let node: NodeProcess
let client: Client
let connection: Connection
let dataDir: string
beforeEach(async () => {
  const namespace = await createNamespace()
  dataDir = await makeDataFolder()
  node = await startNodeProcess({ namespace, dataDir })
  connection = await Connection.connect({ address: temporalAddress() })
  client = new Client({ connection, namespace, dataConverter: testConverter })
})
afterEach(async () => {
  process.kill(node.pid, 'SIGCONT')
  await node.stop()
  await connection.close()
  await rm(dataDir, { recursive: true, force: true })
})

const { EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT } = protocol.api.enums.v1.EventType

const workflowTaskTimedOut = async (delivery: DeliveryHandle): Promise<boolean> => {
  const { events } = await delivery.fetchHistory()
  return events?.some(({ eventType }) => eventType === EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) === true
}

const activityTimedOut = async (delivery: DeliveryHandle): Promise<boolean> => {
  const { raw } = await delivery.describe()
  return raw.pendingActivities?.some(({ lastFailure }) => Boolean(lastFailure?.timeoutFailureInfo)) === true
}

it('an endpoint that took an attempt gets no other one because the report came too late', async () => {
  const deliveries = await Promise.all(
    [
      { messageId: 'first attempt', failures: [], isGivenUp: workflowTaskTimedOut },
      { messageId: 'retry', failures: [{ status: 503 }], isGivenUp: activityTimedOut },
    ].map(async ({ messageId, failures, isGivenUp }) => {
      const receiver = await startReceiver()
      const source = await node.createSource()
      await node.connect([source], [receiver.url])
      // Both are still under way when the node stands still.
      receiver.answerInTurn(...failures, { delayMs: 4_000 })
      await node.post('/track', source.writeKey, { messageId, userId: 'u1', event: 'E' })
      await receiver.received(failures.length + 1)
      return {
        receiver,
        attempts: failures.length + 1,
        isGivenUp,
        delivery: await onlyDeliveryOf(client, source),
      }
    }),
  )
  process.kill(node.pid, 'SIGSTOP')
  for (const { delivery, isGivenUp } of deliveries)
    await until('Temporal gives the task up', () => isGivenUp(delivery), givenUpLimitMs)
  process.kill(node.pid, 'SIGCONT')

  for (const { receiver, attempts, delivery } of deliveries) {
    expect(await delivery.result()).toMatchObject({ outcome: 'delivered' })
    expect(receiver.requests).toHaveLength(attempts)
    await receiver.close()
  }
})
