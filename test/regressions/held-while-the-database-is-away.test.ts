/** Symptom: a delivery that waited failed for good when the database restarted, or hung, at the wrong moment.
 *  Cause: a waiting delivery that was told of a change read its destination once, inside a workflow task; an error there
 *  went through to the workflow.
 *  Consequence: the read is repeated by Temporal for as long as the database is away, and the delivery waits. */

import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signals } from '../../src/contracts/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { deliver, until, untilOutcome, type DeliveryHandle } from '../system/deliveries.ts'

const missing = findPostgres() === undefined

const manyChanges = 200

describe.skipIf(missing)('a delivery that waits while the database is away', () => {
  let postgres: PostgresServer
  let relay: TcpRelay
  let node: TestApp
  const lines: string[] = []
  beforeAll(async () => {
    postgres = await startPostgres()
    relay = await startTcpRelay(postgres.port)
    const url = new URL(await postgres.createDatabase())
    url.port = String(relay.port)
    const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
    node = await startTestApp({ environment: { DATABASE_URL: url.href }, logger })
  })
  afterAll(async () => {
    await node[Symbol.asyncDispose]()
    await relay[Symbol.asyncDispose]()
    await postgres.stop()
  })

  const told = (text: string): number => lines.filter((line) => line.includes(`"${text}"`)).length

  const change = async ({ id }: Destination, patch: object): Promise<void> => {
    expect(await node.api('PATCH', `/destinations/${id}`, patch)).toMatchObject({ status: 200 })
  }

  /** One that is held, and one that waits for its next attempt. */
  const startWaiting = async (url: string) => {
    const source = await node.createSource()
    const held = await node.connect([source], [url])
    await change(held, { paused: true })
    const failing = await startReceiver()
    failing.answerInTurn({ status: 503 }, {})
    const retrying = await node.connect([source], [failing.url])
    const retry = { windowMs: 600_000, initialMs: 300_000, maxMs: 300_000 }
    const deliveries = {
      held: await deliver(node.app.temporal, source, [held]),
      retrying: await deliver(node.app.temporal, source, [retrying], { retry }),
    }
    await untilOutcome(deliveries.held, 'held')
    await untilOutcome(deliveries.retrying, 'retrying')
    return { held, retrying, deliveries, [Symbol.asyncDispose]: () => failing.close() }
  }

  const tell = (delivery: DeliveryHandle, { id }: Destination) => delivery.signal(signals.destinationChanged, id)

  /** Reads that Temporal repeats. @throws Error when the delivery is over */
  const pendingReads = async (delivery: DeliveryHandle): Promise<number> => {
    const { raw, status } = await delivery.describe()
    if (status.name !== 'RUNNING') throw new Error(`${delivery.workflowId}: ${status.name}`)
    return (raw.pendingActivities ?? []).filter(({ activityType }) => activityType?.name === 'readDestination').length
  }

  /** Signals after the last workflow task that was completed. */
  const signalsToCome = async (delivery: DeliveryHandle): Promise<number> => {
    const events = (await delivery.fetchHistory()).events ?? []
    const done = events.findLastIndex(({ workflowTaskCompletedEventAttributes: completed }) => completed)
    return events.slice(done).filter(({ workflowExecutionSignaledEventAttributes: signal }) => signal).length
  }

  it.each<['restarts' | 'hangs', (relay: TcpRelay) => void]>([
    ['restarts', (door) => door.shut()],
    ['hangs', (door) => door.freeze()],
  ])('goes on when it %s', async (_, takeAway) => {
    await using receiver = await startReceiver()
    await using waiting = await startWaiting(receiver.url)
    const { held, retrying, deliveries } = waiting
    lines.length = 0
    takeAway(relay)
    try {
      await tell(deliveries.held, held)
      await tell(deliveries.retrying, retrying)
      for (const delivery of Object.values(deliveries))
        await until('it is read again later', async () => (await pendingReads(delivery)) > 0)
      await Promise.all(Array.from({ length: manyChanges }, () => tell(deliveries.held, held)))
      await Promise.all(Array.from({ length: manyChanges }, () => tell(deliveries.retrying, retrying)))
      for (const delivery of Object.values(deliveries)) {
        await until('it has taken in all of them', async () => (await signalsToCome(delivery)) === 0)
        expect(await pendingReads(delivery)).toBe(1)
      }
      await until('the log tells it', () => told('part.away') > 0)
    } finally {
      relay.open()
    }
    await until('the database is back', () => told('part.back') > 0)
    for (const text of ['part.away', 'part.back']) expect([text, told(text)]).toEqual([text, 1])
    // A statement that hangs has 10 s: the database may be back before.
    expect(told('suppression.not_read')).toBeLessThanOrEqual(1)
    await change(held, { paused: false })
    expect((await deliveries.held.result()).outcome).toBe('delivered')
    await deliveries.retrying.signal(signals.retryNow)
    expect((await deliveries.retrying.result()).outcome).toBe('delivered')
  })
})
