/** Symptom: after a node was lost on a slow machine, or while Temporal was away, endpoints got hundreds of events of parcels twice.
 *  Cause: a round of retries that was lost with its node was made again without a look at what had been written of it, and a first
 *  round went on as if nothing had been sent when the database did not answer in time.
 *  Consequence: repeats of what endpoints had taken long before. And what a first round had written as taken at once was shown as
 *  delivered in one attempt, of which the list of attempts had nothing. */

import { rm } from 'node:fs/promises'
import { Client, Connection } from '@temporalio/client'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { opened } from '../../src/temporal/opened.ts'
import type { Source } from '../../src/schemas/source.ts'
import { makeDataFolder } from '../support/app.ts'
import { deliveryPath } from '../support/deliveries.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Answer, type Receiver } from '../support/receiver.ts'
import { testConverter, testPayloads } from '../support/sealed-payloads.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const count = 40
/** Temporal gives a lost round up after 10 s. */
const limitMs = 90_000

/** Whether an event travels in a workflow of its own. */
const isAlone = (messageId: string): boolean => messageId.startsWith('alone')

const requestsOf = ({ requests }: Receiver): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { body } of requests) {
    const { messageId } = JSON.parse(body.toString()) as { messageId: string }
    counts.set(messageId, (counts.get(messageId) ?? 0) + 1)
  }
  return counts
}

describe.skipIf(findPostgres() === undefined)('a round of a parcel that is lost with its node', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  interface Given {
    receiver: Receiver
    toTemporal: TcpRelay
    database: pg.Client
    start: () => Promise<NodeProcess>
    delivered: () => Promise<number>
    /** Parcels that Temporal has not seen end. */
    open: () => Promise<number>
    /** Why the last tries of their activities failed. */
    failures: () => Promise<string>
  }

  /** A batch that travels in a parcel, on its way to a receiver. */
  async function given(
    answer: (messageId: string, made: number, toTemporal: TcpRelay) => Answer,
  ): Promise<Given & { node: NodeProcess; source: Source }> {
    const [host, port] = temporalAddress().split(':')
    const toTemporal = await startTcpRelay(Number(port))
    const receiver = await startReceiver()
    const databaseUrl = await postgres.createDatabase()
    const database = new pg.Client(databaseUrl)
    await database.connect()
    const [namespace, dataDir] = [await createNamespace(), await makeDataFolder()]
    const start = async (): Promise<NodeProcess> => {
      const node = await startNodeProcess({
        namespace,
        dataDir,
        environment: { DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: `${host}:${toTemporal.port}` },
      })
      onTestFinished(() => node.stop())
      return node
    }
    onTestFinished(async () => {
      await Promise.all([toTemporal, receiver].map((part) => part[Symbol.asyncDispose]()))
      await database.end()
      await rm(dataDir, { recursive: true, force: true })
    })
    receiver.answer(({ body }) => {
      const { messageId } = JSON.parse(body.toString()) as { messageId: string }
      return answer(messageId, requestsOf(receiver).get(messageId) ?? 0, toTemporal)
    })
    const node = await start()
    const [source, other] = [await node.createSource('app'), await node.createSource('other')]
    await node.connect([source, other], [receiver.url])
    const batch = Array.from({ length: count }, (_, n) => ({
      type: 'track',
      messageId: `m-${n}`,
      userId: 'u1',
      event: 'E',
    }))
    const inParcels = async (condition = 'true'): Promise<number> => {
      const { rows } = await database.query<{ count: number }>(
        `select count(*)::int as count from parcel_events where message_id like 'm-%' and ${condition}`,
      )
      return rows[0]?.count ?? 0
    }
    // The first of a batch goes alone where Temporal took no event in the last two seconds. So it is given one after the other.
    let posted = 0
    const postAlone = () =>
      node.post('/track', other.writeKey, { messageId: `alone-${posted++}`, userId: 'u1', event: 'Alone' })
    await postAlone()
    await receiver.received(1)
    let isInParcels = false
    const keptBusy = (async () => {
      while (!isInParcels && posted < 1_000) await postAlone()
    })()
    try {
      await until('Temporal takes one after the other', () => receiver.requests.length >= 3)
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
      await until('all of the batch share parcels', async () => (await inParcels()) === count)
    } finally {
      isInParcels = true
      await keptBusy
    }
    const delivered = () => inParcels(`status = 'delivered'`)
    const connection = await Connection.connect({ address: temporalAddress() })
    onTestFinished(() => connection.close())
    const { workflow } = new Client({ connection, namespace, dataConverter: testConverter })
    const running = `WorkflowType = 'deliverParcel' and ExecutionStatus = 'Running'`
    const open = async (): Promise<number> => (await workflow.count(running)).count
    const failures = async (): Promise<string> => {
      const messages: string[] = []
      for await (const { workflowId } of workflow.list({ query: running })) {
        const { raw } = await workflow.getHandle(workflowId).describe()
        messages.push(
          ...opened(testPayloads, raw.pendingActivities ?? []).map(({ lastFailure }) => lastFailure?.message ?? ''),
        )
      }
      return messages.join()
    }
    return { node, source, receiver, toTemporal, database, start, delivered, open, failures }
  }

  it('sends nothing again that the database knows, when retries are lost', async () => {
    let isCut = false
    const { node, receiver, toTemporal, start, delivered, open } = await given((messageId, made, relay) => {
      if (isAlone(messageId)) return {}
      if (made > 1 && !isCut) {
        isCut = true
        relay.shut()
      }
      return { status: made === 1 ? 503 : 200 }
    })
    const taken = (): number => [...requestsOf(receiver)].filter(([id, made]) => !isAlone(id) && made > 1).length
    await until(
      'some were taken, and Temporal was not told',
      async () => taken() > 0 && (await delivered()) === taken(),
      limitMs,
    )
    await node.kill()
    toTemporal.open()
    await start()
    await until('Temporal is told', async () => (await open()) === 0, limitMs)
    expect([...requestsOf(receiver).entries()].filter(([id, made]) => !isAlone(id) && made !== 2)).toEqual([])
  })

  it('waits for the database that knows, when the first round is lost', async () => {
    let isCut = false
    const { node, source, receiver, toTemporal, database, start, delivered, open, failures } = await given(
      (messageId, _made, relay) => {
        if (!isAlone(messageId) && !isCut) {
          isCut = true
          relay.shut()
        }
        return {}
      },
    )
    await until('all were taken, and Temporal was not told', async () => (await delivered()) === count, limitMs)
    await node.kill()
    const killedAt = Date.now()
    toTemporal.open()
    await database.query('begin')
    await database.query('lock table parcel_events in access exclusive mode')
    const next = await start()
    await until('a round finds no database', async () => (await failures()).includes('not answer'), limitMs)
    await database.query('commit')
    await until('Temporal is told', async () => (await open()) === 0, limitMs)
    const counts = requestsOf(receiver)
    expect([...counts].filter(([id, made]) => !isAlone(id) && made !== 1)).toEqual([])
    // Later ones may have been under way when Temporal was cut off.
    expect(counts.get('alone-0')).toBe(1)

    // What was sent and answered was to be told to Temporal; that the attempt was made, when and with which answer is known.
    const path = deliveryPath(`event/${source.id}/m-0`)
    const { body } = await next.api<DeliveryDetail>('GET', path)
    expect(body).toMatchObject({
      status: 'delivered',
      attempts: 1,
      timeline: [{ status: 200, error: null, request: null }],
    })
    const [{ at, durationMs } = { at: '', durationMs: -1 }] = body.timeline
    expect(Date.parse(at)).toBeLessThan(killedAt)
    expect(durationMs).toBeGreaterThanOrEqual(0)
  })
})
