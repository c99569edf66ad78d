/** Endpoints with a retry window of their own, and sisters without one. */

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signals } from '../../src/contracts/delivery.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { deliveryPath, untilStatus } from '../support/deliveries.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { deliver, failureOf, untilOutcome, withPatientLast } from './deliveries.ts'

const limit = 180_000
const down = { status: 503 }
const retry = { windowMs: 5_000, initialMs: 500, maxMs: 500 }

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

interface Sisters {
  source: Source
  destination: Destination
}

/** A destination with two endpoints that are down; the second has a window of an hour. */
async function sistersOf(receivers: Receiver[], successPolicy: 'any' | 'all'): Promise<Sisters> {
  for (const receiver of receivers) receiver.answer(down)
  const source = await node.createSource()
  const urls = receivers.map(({ url }) => url)
  return { source, destination: await withPatientLast(node, await node.connect([source], urls, { successPolicy })) }
}

const patch = async ({ id }: Destination, change: object): Promise<void> =>
  expect((await node.api('PATCH', `/destinations/${id}`, change)).status).toBe(200)

/** Starts a delivery. @returns it, and its id in the API */
async function begin({ source, destination }: Sisters, windowMs = retry.windowMs) {
  const messageId = randomUUID()
  return {
    handle: await deliver(node.app.temporal, source, [destination], { messageId, retry: { ...retry, windowMs } }),
    id: `event/${source.id}/${messageId}`,
  }
}

const detailOf = async (id: string): Promise<DeliveryDetail> =>
  (await node.api<DeliveryDetail>('GET', deliveryPath(id))).body

/** Resolves when the first endpoint is given up. */
const untilGivenUp = (id: string): Promise<DeliveryDetail> =>
  until('the first endpoint is given up', async () => {
    const detail = await detailOf(id)
    return detail.destinations[0]?.endpoints[0]?.status === 'failed' && detail
  })

it.concurrent.for([
  ['any', 'delivered'],
  ['all', 'failed'],
] as const)(
  'are tried for as long as is set there, where %s is needed',
  { timeout: limit },
  async ([successPolicy, outcome], { expect }) => {
    await using short = await startReceiver()
    await using patient = await startReceiver()
    const sisters = await sistersOf([short, patient], successPolicy)
    const { handle, id } = await begin(sisters)
    const { status, destinations } = await untilGivenUp(id)
    expect(status).toBe('retrying')
    expect(destinations).toMatchObject([
      {
        status: 'retrying',
        endpoints: [
          { reason: expect.stringContaining('503') as string },
          { status: 'retrying', retryWindowMs: 3_600_000 },
        ],
      },
    ])
    expect(destinations[0]).not.toHaveProperty('retryWindowMs')
    expect(destinations[0]?.endpoints[0]).not.toHaveProperty('retryWindowMs')
    const [atShort, atPatient] = [short.requests.length, patient.requests.length]
    expect(atShort).toBeGreaterThan(1)

    await handle.signal(signals.retryNow, { by: 'operator', why: 'mended' })
    await patient.received(atPatient + 1)
    patient.answer({})
    const ended = await untilStatus(node, id, outcome)
    expect(ended.destinations).toMatchObject([
      { status: outcome, endpoints: [{ status: 'failed' }, { status: 'delivered' }] },
    ])
    expect(short.requests).toHaveLength(atShort)

    // What is delivered again has the windows of now.
    const again = await node.api<{ id: string }>('POST', deliveryPath(id, '/redeliver'))
    expect((await untilStatus(node, again.body.id, 'delivered', 'retrying')).destinations[0]?.endpoints).toMatchObject([
      {},
      { retryWindowMs: 3_600_000 },
    ])
  },
)

it.concurrent(
  'lose nothing of their windows while their destination is paused',
  { timeout: limit },
  async ({ expect }) => {
    await using short = await startReceiver()
    await using patient = await startReceiver()
    const sisters = await sistersOf([short, patient], 'all')
    const windowMs = 10_000
    const { handle } = await begin(sisters, windowMs)
    await short.received(2)
    await patch(sisters.destination, { paused: true })
    await untilOutcome(handle, 'held')
    const heldAt = Date.now()
    await until('the pause is longer than the window', () => Date.now() - heldAt > windowMs + 500)
    for (const one of [short, patient]) one.answer({})
    await patch(sisters.destination, { paused: false })
    expect((await handle.result()).outcome).toBe('delivered')
  },
)

it.concurrent('keep them in a new run of the workflow', { timeout: limit }, async ({ expect }) => {
  await using short = await startReceiver()
  await using patient = await startReceiver()
  const { source, destination } = await sistersOf([short, patient], 'any')
  const messageId = randomUUID()
  const clock = { startedAt: Date.now() - 60_000, pausedNow: 0 }
  const waiting = destination.settings.webhooks.map(({ id: endpointId }) => ({ endpointId, attempts: 1 }))
  await deliver(node.app.temporal, source, [destination], {
    messageId,
    retry,
    resumed: [{ kind: 'held', destinationId: destination.id, clock, settled: [], waiting }],
  })
  const id = `event/${source.id}/${messageId}`
  // Its window has been over for long, and that of the other one has not.
  expect((await untilGivenUp(id)).status).toBe('retrying')
  patient.answer({})
  await untilStatus(node, id, 'delivered')
})

it.concurrent('end with their destination', { timeout: limit }, async ({ expect }) => {
  await using short = await startReceiver()
  await using patient = await startReceiver()
  const sisters = await sistersOf([short, patient], 'all')
  const { handle, id } = await begin(sisters)
  await untilGivenUp(id)
  expect((await node.api('DELETE', `/destinations/${sisters.destination.id}`)).status).toBe(200)
  const { result } = await failureOf(handle)
  expect(result.destinations).toMatchObject([
    { outcome: 'failed', endpoints: [{ outcome: 'failed' }, { outcome: 'discarded' }] },
  ])
})
