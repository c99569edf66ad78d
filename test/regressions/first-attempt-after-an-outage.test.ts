/** Symptom: an event that still waited for its first attempt at an endpoint failed without one when all workers, or the
 *  database, were away for as long as the retry window.
 *  Cause: the wait for the first attempt used up the window, whoever was to blame for it.
 *  Consequence: the window begins with the first attempt, which is made once they are back; only an endpoint that gave no turn for
 *  the whole window fails the event without one. */

import { rm } from 'node:fs/promises'
import { Connection, WorkflowClient } from '@temporalio/client'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { deliver, type DeliveryHandle } from '../system/deliveries.ts'
import type { deliverEvent } from '../../workflows/deliver-event.ts'

/** First attempts that an endpoint may have in flight as long as it has answered none, and events that keep it so. */
const firstTurns = 8
const events = 40

/** Longer than it takes to stop the node before another try is due. */
const windowMs = 8_000

const eventsOf = async (delivery: DeliveryHandle) => (await delivery.fetchHistory()).events ?? []

const logger = pino({ level: 'silent' })

it('is made when all workers were away for the whole window', async () => {
  const namespace = await createNamespace()
  const dataDir = await makeDataFolder()
  const start = (): Promise<TestApp> => startTestApp({ namespace, dataDir, logger })
  await using receiver = await startReceiver()
  receiver.answer('hang')
  let node = await start()
  try {
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    await Promise.all(Array.from({ length: events }, () => deliver(node.app.temporal, source, [destination])))
    await receiver.received(firstTurns)
    const { workflowId } = await deliver(node.app.temporal, source, [destination], {
      messageId: 'late',
      retry: { windowMs },
    })
    const late = () => node.app.temporal.client.workflow.getHandle<typeof deliverEvent>(workflowId)
    await until('it waits for its turn', async () =>
      (await eventsOf(late())).some(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled),
    )
    await node[Symbol.asyncDispose]()
    receiver.answer({})
    const connection = await Connection.connect({ address: temporalAddress() })
    const seen = new WorkflowClient({ connection, namespace }).getHandle<typeof deliverEvent>(workflowId)
    await until('the window is over', async () =>
      (await eventsOf(seen)).some(({ activityTaskTimedOutEventAttributes: timedOut }) => timedOut),
    )
    await connection.close()
    node = await start()
    expect((await late().result()).destinations).toMatchObject([{ endpoints: [{ outcome: 'delivered', attempts: 1 }] }])
    const bodies = receiver.requests.map(({ body }) => body.toString())
    expect(bodies.filter((body) => body.includes('"late"'))).toHaveLength(1)
  } finally {
    await node[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  }
})

describe.skipIf(findPostgres() === undefined)('a node that was cut off from its database', () => {
  it('makes it when the database is back after the window, and tries on for a whole one', async () => {
    const postgres = await startPostgres()
    await using relay = await startTcpRelay(postgres.port)
    const database = await postgres.createDatabase()
    const through = new URL(database)
    through.port = String(relay.port)
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 503 }, {})
    try {
      await using node = await startTestApp({ environment: { DATABASE_URL: through.href }, logger })
      // It shares the settings alone: its workers are those of another namespace.
      await using other = await startTestApp({ environment: { DATABASE_URL: database }, logger })
      relay.shut()
      const source = await other.createSource()
      const destination = await other.connect([source], [receiver.url])
      const delivery = await deliver(node.app.temporal, source, [destination], {
        retry: { windowMs: 3_000, initialMs: 200, maxMs: 200 },
      })
      await until('the window is over', async () =>
        (await eventsOf(delivery)).some(
          ({ activityTaskTimedOutEventAttributes: timedOut, activityTaskFailedEventAttributes: failed }) =>
            timedOut ?? failed,
        ),
      )
      relay.open()
      expect((await delivery.result()).destinations).toMatchObject([
        { endpoints: [{ outcome: 'delivered', attempts: 2 }] },
      ])
    } finally {
      await postgres.stop()
    }
  })
})
