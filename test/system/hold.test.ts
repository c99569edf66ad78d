import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { waitingQuery } from '../../src/temporal/delivery-query.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { deliver, deliveryOf, failureOf, until, untilOutcome, type DeliveryHandle } from './deliveries.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const patch = async ({ id }: Destination, change: object): Promise<void> => {
  const { status, body } = await node.api('PATCH', `/destinations/${id}`, change)
  if (status !== 200) throw new Error(`not changed: ${status} ${JSON.stringify(body)}`)
}
const pause = (destination: Destination): Promise<void> => patch(destination, { paused: true })
const resume = (destination: Destination): Promise<void> => patch(destination, { paused: false })

const connected = async (receiver: Receiver): Promise<{ source: Source; destination: Destination }> => {
  const source = await node.createSource()
  return { source, destination: await node.connect([source], [receiver.url]) }
}

const track = (source: Source, messageId: string) =>
  node.post('/track', source.writeKey, { messageId, userId: 'u1', event: 'E' })

const messageIds = ({ requests }: Receiver): string[] =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId)

it.concurrent('holds what comes while paused, and delivers all of it after the resumption', async ({ expect }) => {
  await using receiver = await startReceiver()
  await using other = await startReceiver()
  const { source, destination } = await connected(receiver)
  await node.connect([source], [other.url])
  await pause(destination)
  const ids = ['held-1', 'held-2', 'held-3']
  for (const id of ids) await track(source, id)
  for (const id of ids) await untilOutcome(deliveryOf(node.app.temporal, source, id), 'held')
  // The other destination of the same source shows that the events had their turn.
  await other.received(3)
  expect(receiver.requests).toHaveLength(0)
  await resume(destination)
  await receiver.received(3)
  for (const id of ids) await deliveryOf(node.app.temporal, source, id).result()
  expect(messageIds(receiver).sort()).toEqual(ids)
})

it.concurrent('makes no attempts while paused in the middle of retries, and goes on after', async ({ expect }) => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const { source, destination } = await connected(receiver)
  const delivery = await deliver(node.app.temporal, source, [destination])
  await receiver.received(3)
  await pause(destination)
  await untilOutcome(delivery, 'held')
  const before = receiver.requests.length
  receiver.answer({})
  await resume(destination)
  const result = await delivery.result()
  expect(receiver.requests).toHaveLength(before + 1)
  expect(result.destinations[0]?.endpoints).toMatchObject([{ outcome: 'delivered', attempts: before + 1 }])
})

it.concurrent('lets the window stand still while paused', async ({ expect }) => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const { source, destination } = await connected(receiver)
  const retry = { windowMs: 20_000, initialMs: 500, maxMs: 500 }
  const fresh = await startHeldDelivery()
  const delivery = await deliver(node.app.temporal, source, [destination], { retry })
  await receiver.received(2)
  await pause(destination)
  await untilOutcome(delivery, 'held')
  const heldAt = Date.now()
  await until('the pause is longer than the window', () => Date.now() - heldAt > retry.windowMs + 1_000)
  receiver.answer({})
  await resume(destination)
  expect((await delivery.result()).outcome).toBe('delivered')
  await fresh.expectDelivered()

  /** One that was held before its first attempt. */
  async function startHeldDelivery() {
    const target = await startReceiver()
    const held = await connected(target)
    await pause(held.destination)
    const waiting = await deliver(node.app.temporal, held.source, [held.destination], { retry })
    await untilOutcome(waiting, 'held')
    return {
      async expectDelivered() {
        target.answerInTurn({ status: 503 }, {})
        await resume(held.destination)
        expect((await waiting.result()).destinations[0]?.endpoints).toMatchObject([
          { outcome: 'delivered', attempts: 2 },
        ])
        await target.close()
      },
    }
  }
})

it.concurrent('gives back a pause that no attempt met', async ({ expect }) => {
  await using receiver = await startReceiver()
  const retry = { windowMs: 40_000, initialMs: 500, maxMs: 500 }
  const wait = { status: 503, headers: { 'retry-after': '3600' } }
  const sinceFirst = (at: Date | undefined): number => (at?.getTime() ?? 0) - Number(receiver.requests[0]?.arrivedAt)
  // It works again when the window alone is over.
  receiver.answer(({ arrivedAt }, index) =>
    index === 0 ? wait : { status: sinceFirst(arrivedAt) > retry.windowMs + 500 ? 200 : 503 },
  )
  const { source, destination } = await connected(receiver)
  const delivery = await deliver(node.app.temporal, source, [destination], { retry })
  await receiver.received(1)
  // Of what the receiver asks for, a quarter of the window is obeyed: the pause is over before the second attempt.
  await pause(destination)
  const pausedAt = Date.now()
  await until('seven seconds of pause', () => Date.now() - pausedAt > 7_000)
  await resume(destination)
  expect((await delivery.result()).outcome).toBe('delivered')
  expect(sinceFirst(receiver.requests[1]?.arrivedAt)).toBeGreaterThan(7_000)
})

it.concurrent('ends with the window all the same when the pause is over', async ({ expect }) => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const { source, destination } = await connected(receiver)
  const retry = { windowMs: 20_000, initialMs: 500, maxMs: 500 }
  const delivery = await deliver(node.app.temporal, source, [destination], { retry })
  await receiver.received(2)
  await pause(destination)
  await untilOutcome(delivery, 'held')
  await resume(destination)
  const { result } = await failureOf(delivery)
  const [endpoint] = result.destinations[0]?.endpoints ?? []
  expect(endpoint?.outcome).toBe('failed')
  // The end of the window may meet one request, which nobody waits for.
  expect([receiver.requests.length, receiver.requests.length - 1]).toContain(endpoint?.attempts)
})

it.concurrent('finds what waits for its turn, but not what may be in its first attempt', async ({ expect }) => {
  await using receiver = await startReceiver()
  receiver.answer('hang')
  const source = await node.createSource()
  const destination = await node.connect([source], [receiver.url])
  await deliver(node.app.temporal, source, [destination])
  await receiver.received(1)
  const found = async (untriedSince: Date): Promise<number> =>
    (await node.app.temporal.client.workflow.count(waitingQuery(destination.id, untriedSince))).count
  await until('it is found', async () => (await found(new Date(Date.now() + 60_000))) === 1)
  expect(await found(new Date(Date.now() - 60_000))).toBe(0)
})

it.concurrent.for<[string, { enabled: false } | undefined]>([
  ['switched off', { enabled: false }],
  ['deleted', undefined],
])('discards what waits when the destination is %s', async ([, change], { expect }) => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  const retrying = await node.connect([source], [receiver.url])
  const held = await node.connect([source], [receiver.url])
  const retry = { windowMs: 600_000, initialMs: 60_000, maxMs: 60_000 }
  const retryingDelivery = await deliver(node.app.temporal, source, [retrying], { retry })
  await untilOutcome(retryingDelivery, 'retrying')
  await pause(held)
  const heldDelivery = await deliver(node.app.temporal, source, [held], { retry })
  await untilOutcome(heldDelivery, 'held')
  for (const destination of [retrying, held])
    await (change === undefined ? node.api('DELETE', `/destinations/${destination.id}`) : patch(destination, change))
  for (const delivery of [retryingDelivery, heldDelivery]) {
    const { outcome, destinations } = await delivery.result()
    expect(outcome).toBe('discarded')
    expect(destinations[0]?.endpoints[0]?.reason).toMatch(/^the destination was (switched off|deleted)/)
    await untilOutcome(delivery, 'discarded')
  }
  expect(receiver.requests).toHaveLength(1)
})

it(
  'loses nothing in 50 rounds of pause, 5 posts and resume without waiting in between',
  { timeout: 150_000 },
  async () => {
    await using receiver = await startReceiver()
    const { source, destination } = await connected(receiver)
    const sent: string[] = []
    for (let round = 0; round < 50; round++) {
      await pause(destination)
      await Promise.all(
        Array.from({ length: 5 }, (_, index) => {
          const id = `round-${round}-${index}`
          sent.push(id)
          return track(source, id)
        }),
      )
      await resume(destination)
    }
    await receiver.received(250, 120_000)
    // Those that had to wait share workflows.
    const delivered = `/deliveries/count?sourceId=${source.id}&status=delivered`
    await until('each is delivered', async () => {
      return (await node.api<{ count: number }>('GET', delivered)).body.count === sent.length
    })
    expect(messageIds(receiver).sort()).toEqual(sent.sort())
  },
)

it.concurrent(
  'does not count an event that comes from its parcel before it is seen to be paused',
  async ({ expect }) => {
    await using receiver = await startReceiver()
    await using other = await startReceiver()
    const { source, destination } = await connected(receiver)
    const second = await node.connect([source], [other.url])
    /** Goes on with the event in a workflow of its own, as it does when it leaves its parcel. */
    const goOn = () =>
      deliver(node.app.temporal, source, [destination, second], {
        resumed: [destination, second].map(({ id, settings }) => ({
          kind: 'held' as const,
          destinationId: id,
          clock: { startedAt: Date.now(), pausedNow: 0 },
          settled: [],
          waiting: settings.webhooks.map((webhook) => ({ endpointId: webhook.id, attempts: 1 })),
        })),
      })
    await patch(destination, { enabled: false })
    const discarded = await goOn()
    await discarded.result()
    expect(await writtenBy(discarded)).not.toMatch(/\bheld"/)

    await patch(destination, { enabled: true })
    await pause(destination)
    const held = await goOn()
    await untilOutcome(held, 'held')
    await resume(destination)
    await held.result()
    expect(await writtenBy(held)).toMatch(/^"held"|,"held"/)
  },
)

/** Everything that a delivery wrote into its search attributes. */
async function writtenBy(handle: DeliveryHandle): Promise<string> {
  const { events } = await handle.fetchHistory()
  return (events ?? [])
    .flatMap(({ upsertWorkflowSearchAttributesEventAttributes: upsert }) =>
      Object.values(upsert?.searchAttributes?.indexedFields ?? {}).map(({ data }) =>
        Buffer.from(data ?? []).toString(),
      ),
    )
    .join()
}
