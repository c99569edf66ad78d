/** Symptom: a PostgreSQL that hung, or was taken over without closing its connections, stopped the inbox, the settings and
 *  the management API until TCP gave up, a quarter of an hour later, and went on stopping them after it was back. Each batch
 *  of events waited 5 seconds for it.
 *  Cause: statements had no time limit, and the pool handed out connections that led nowhere.
 *  Consequence: every statement has a limit, one that gets no answer costs all connections of before, and events go to
 *  Temporal at once while the inbox is known not to take them. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { pino } from 'pino'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { openTcpGate, type TcpGate } from '../support/tcp-gate.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const batchSize = 20

describe.skipIf(findPostgres() === undefined)('a node whose PostgreSQL hangs', () => {
  let server: PostgresServer
  let gate: TcpGate
  let wayToTemporal: TcpRelay
  let node: TestApp
  let receiver: Receiver
  let source: Source

  beforeAll(async () => {
    server = await startPostgres()
    gate = await openTcpGate(server.host, server.port)
    const url = new URL(await server.createDatabase())
    url.port = String(gate.port)
    wayToTemporal = await startTcpRelay(Number(temporalAddress().split(':')[1]))
    node = await startTestApp({
      environment: { DATABASE_URL: url.href, TEMPORAL_ADDRESS: `127.0.0.1:${wayToTemporal.port}` },
      logger: pino({ level: 'silent' }),
    })
    receiver = await startReceiver()
    source = await node.createSource()
    await node.connect([source], [receiver.url])
  })
  afterAll(async () => {
    server.thaw()
    await node[Symbol.asyncDispose]()
    await Promise.all([receiver.close(), gate.close(), wayToTemporal[Symbol.asyncDispose]()])
    await server.stop()
  })

  let batches = 0
  let posted = 0
  /** More events than go to Temporal at once, unless told otherwise. @returns the answer's status */
  const postBatch = async (size = batchSize): Promise<number> => {
    const name = `batch ${++batches}`
    posted += size
    const batch = Array.from({ length: size }, (_, index) => ({
      type: 'track',
      userId: 'u1',
      event: 'Kept',
      messageId: `${name}-${index}`,
    }))
    return (await node.post('/batch', source.writeKey, { batch })).status
  }
  const inboxed = async (): Promise<number> => {
    const metrics = await (await fetch(`${node.url}/metrics`)).text()
    return Number(/fate="inboxed"[^}]*\} (\d+)/.exec(metrics)?.[1] ?? 0)
  }
  const allReceived = () => receiver.received(posted)
  const inboxTakesEvents = () =>
    until('the inbox takes events', async () => {
      const before = await inboxed()
      expect(await postBatch()).toBe(200)
      return (await inboxed()) > before
    })

  it('delivers through Temporal alone, and uses the inbox again once it is back', async () => {
    await inboxTakesEvents()
    await allReceived()
    server.freeze()
    onTestFinished(() => server.thaw())
    const before = await inboxed()
    expect(await Promise.all([postBatch(), postBatch(), postBatch()])).toEqual([200, 200, 200])
    // A Temporal that is slow, and not away, is waited for: nothing else can hold the events. The database is waited for first, some 6 s; by
    // a single event after Temporal was tried for 2 s.
    for (const size of [batchSize, 1]) {
      wayToTemporal.freeze()
      const slow = postBatch(size)
      await sleep(size === 1 ? 10_500 : 9_500)
      wayToTemporal.open()
      expect(await slow).toBe(200)
      await allReceived()
    }
    // Those that wait for each other are waited for as long as Temporal takes some.
    let isSlow = true
    const pulses = (async () => {
      while (isSlow) {
        wayToTemporal.freeze()
        await sleep(900)
        wayToTemporal.open()
        await sleep(300)
      }
    })()
    const inLine = await Promise.all([postBatch(), postBatch(), postBatch()])
    isSlow = false
    await pulses
    expect(inLine).toEqual([200, 200, 200])
    await allReceived()
    expect(await inboxed()).toBe(before)
    server.thaw()
    await inboxTakesEvents()
  })

  it('goes on with new connections when those that it had lead nowhere', async () => {
    await inboxTakesEvents()
    await allReceived()
    gate.silence()
    await until('the management API answers', async () => {
      const { status } = await node.api('PATCH', `/sources/${source.id}`, { name: 'Renamed' })
      return status === 200
    })
    await inboxTakesEvents()
    await allReceived()
    const ids = receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId)
    expect(new Set(ids).size).toBe(posted)
  })
})
