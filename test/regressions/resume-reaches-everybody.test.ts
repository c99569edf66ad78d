/** Symptom: deliveries of a destination that was resumed stayed held, for up to 8 minutes, when Temporal was away at that
 *  moment or the node died; and while they were held they kept the server busy.
 *  Cause: the resume was told once, by the node that took it, and each held delivery looked at its destination every 30 s to 8
 *  minutes to make up for it.
 *  Consequence: a change stands in the database until everybody was told, and a held delivery waits to be told. */

import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { signals } from '../../src/contracts/delivery.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { deliver, untilOutcome, type DeliveryHandle } from '../system/deliveries.ts'

/** So many events of a history make Temporal suggest a new run (`limit.historyCount.suggestContinueAsNew`). */
const suggestedEvents = 4_096

const change = async (node: TestApp, { id }: Destination, patch: object): Promise<void> => {
  expect(await node.api('PATCH', `/destinations/${id}`, patch)).toMatchObject({ status: 200 })
}

const eventsOf = async (handle: DeliveryHandle) => (await handle.fetchHistory()).events ?? []

/** Reads of its destination that were made inside a workflow task. */
const readsOf = async (handle: DeliveryHandle): Promise<number> =>
  (await eventsOf(handle)).filter(({ markerRecordedEventAttributes: marker }) =>
    marker?.details?.['data']?.payloads?.some(({ data }) => data && Buffer.from(data).includes('"readDestination"')),
  ).length

it('reaches a held delivery when Temporal was away meanwhile, and the node was replaced', async () => {
  await using relay = await startTcpRelay(Number(temporalAddress().split(':').at(-1)))
  const namespace = await createNamespace()
  const dataDir = await makeDataFolder()
  const start = (): Promise<TestApp> =>
    startTestApp({
      environment: { TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}` },
      namespace,
      dataDir,
      logger: pino({ level: 'silent' }),
    })
  await using receiver = await startReceiver()
  let node = await start()
  try {
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const hold = async (messageId: string): Promise<void> => {
      await change(node, destination, { paused: true })
      await untilOutcome(await deliver(node.app.temporal, source, [destination], { messageId }), 'held')
    }
    await hold('first')
    relay.shut()
    await change(node, destination, { paused: false })
    relay.open()
    await receiver.received(1)

    await until('Temporal is back', async () => (await fetch(`${node.url}/readyz`)).ok)
    await hold('second')
    relay.shut()
    await change(node, destination, { paused: false })
    await node[Symbol.asyncDispose]()
    relay.open()
    node = await start()
    await receiver.received(2)
  } finally {
    relay.open()
    await node[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  }
})

it('is all that a held delivery waits for; one of many pauses goes on in a new run', async () => {
  await using node = await startTestApp()
  await using receiver = await startReceiver()
  receiver.answerInTurn({ status: 503 }, {})
  const source = await node.createSource()
  const destination = await node.connect([source], [receiver.url])
  const retry = { windowMs: 30_000, initialMs: 2_000, maxMs: 2_000 }
  const delivery = await deliver(node.app.temporal, source, [destination], { retry })
  await receiver.received(1)
  await change(node, destination, { paused: true })
  await untilOutcome(delivery, 'held')

  const timers = (await eventsOf(delivery)).flatMap(({ timerStartedEventAttributes: timer }) => timer ?? [])
  expect(Number(timers.at(-1)?.startToFireTimeout?.seconds)).toBeGreaterThanOrEqual(12 * 60 * 60)

  const read = await readsOf(delivery)
  for (const told of [1, 2, 3]) {
    await delivery.signal(signals.destinationChanged, destination.id)
    await until('it reads', async () => (await readsOf(delivery)) > read + told - 1)
    expect(await readsOf(delivery)).toBe(read + told)
  }

  const before = await delivery.describe()
  // Signals of no interest to it, until Temporal suggests a new run.
  for (let told = 0; told < suggestedEvents; told += 100)
    await Promise.all(Array.from({ length: 100 }, () => delivery.signal(signals.destinationChanged, 'dst_another')))
  await delivery.signal(signals.destinationChanged, destination.id)
  await until('a new run', async () => (await delivery.describe()).runId !== before.runId, 60_000)
  await untilOutcome(delivery, 'held')
  const after = await delivery.describe()
  expect(after.memo).toEqual(before.memo)
  const attributes = (described: typeof after) =>
    described.typedSearchAttributes
      .getAll()
      .filter(({ key }) => key.name.startsWith('Postrider'))
      .toSorted((a, b) => a.key.name.localeCompare(b.key.name))
  expect(attributes(after)).toEqual(attributes(before))
  expect(receiver.requests).toHaveLength(1)

  await change(node, destination, { paused: false })
  expect((await delivery.result()).destinations[0]?.endpoints).toMatchObject([{ outcome: 'delivered', attempts: 2 }])
  expect(receiver.requests).toHaveLength(2)
  const { body } = await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(delivery.workflowId)}`)
  expect(body).toMatchObject({ status: 'delivered', attempts: 2 })
  expect(body.timeline.map(({ status }) => status)).toEqual([503, 200])
})
