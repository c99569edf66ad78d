/** Endpoints that are sent so much a second, or so much at a time, and no more. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { createAudience, upload } from '../audiences/setup.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { list, track, untilStatus } from '../support/deliveries.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limit = 180_000

let node: TestApp
beforeAll(async () => {
  // Long pauses: what comes soon comes because its turn is told.
  const environment = { POSTRIDER_RETRY_WINDOW: '4h', POSTRIDER_RETRY_INITIAL: '10s', POSTRIDER_RETRY_MAX: '15m' }
  node = await startTestApp({ environment })
})
afterAll(() => node[Symbol.asyncDispose]())

/** Posts so many events at once. */
const flood = async ({ writeKey }: Source, count: number): Promise<void> => {
  const batch = Array.from({ length: count }, (_, n) => ({ type: 'track', userId: `u${n}`, event: 'Ordered' }))
  expect((await node.post('/batch', writeKey, { batch })).status).toBe(200)
}

/** So many requests a second came, of all. */
const ratePerSecond = (requests: readonly ReceivedRequest[]): number => {
  const times = requests.map(({ arrivedAt }) => arrivedAt.getTime())
  return ((requests.length - 1) * 1_000) / (Math.max(...times) - Math.min(...times))
}

/** Most requests that were under way together, each for so long at least. */
const mostTogether = (requests: readonly ReceivedRequest[], forMs: number): number => {
  const begins = requests.map(({ arrivedAt }) => arrivedAt.getTime())
  return Math.max(...begins.map((at) => begins.filter((other) => other <= at && at < other + forMs).length))
}

const ended = (source: Source, count: number): Promise<Delivery[]> =>
  until(`${count} deliveries have ended`, async () => {
    const items = await list(node, { sourceId: source.id, limit: '200' })
    return items.length === count && items.every(({ endedAt }) => endedAt !== null) && items
  })

/** All were taken at their first attempt. */
const takenAtOnce = (deliveries: readonly Delivery[]): void =>
  expect(new Set(deliveries.map(({ status, attempts }) => `${status} ${attempts}`))).toEqual(new Set(['delivered 1']))

describe.concurrent('an endpoint', () => {
  it('gets no more requests a second than are set, and each event once', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    const source = await node.createSource('Paced')
    await node.connect([source], [receiver.url], { options: { maxPerSecond: 20 } })
    await flood(source, 120)
    takenAtOnce(await ended(source, 120))
    expect(receiver.requests).toHaveLength(120)
    // What is on its way longer than what comes after it makes a rate look higher.
    expect(ratePerSecond(receiver.requests)).toBeLessThan(40)
  })

  it('gets no more at a time than are set', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer({ delayMs: 100 })
    const source = await node.createSource('Few at a time')
    await node.connect([source], [receiver.url], { options: { maxConcurrent: 2 } })
    await flood(source, 60)
    takenAtOnce(await ended(source, 60))
    expect(mostTogether(receiver.requests, 90)).toBeLessThanOrEqual(2)
  })

  it(
    'that takes one in a second holds up no other, and tells why events wait',
    { timeout: limit },
    async ({ expect }) => {
      await using slow = await startReceiver()
      await using other = await startReceiver()
      const [paced, free] = [await node.createSource('Slow'), await node.createSource('Other')]
      const { id, settings } = await node.connect([paced], [slow.url], { options: { maxPerSecond: 1 } })
      await node.connect([free], [other.url])
      await flood(paced, 40)
      await untilStatus(
        node,
        await track(node, free, { userId: 'u1', event: 'Beside', messageId: 'beside' }),
        'delivered',
      )
      expect(slow.requests.length).toBeLessThan(40)
      const waiting = await until('some tell why they wait', async () => {
        const items = await list(node, { sourceId: paced.id, limit: '200' })
        const told = items.filter(({ reason }) => reason === 'not attempted: paced at 1/s')
        // Also those of which no attempt was asked for.
        const open = items.filter(({ endedAt, attempts }) => endedAt === null && attempts === 0)
        return told.length > 0 && told.length >= open.length && items
      })
      expect(waiting.filter(({ status }) => !['queued', 'delivering', 'delivered'].includes(status))).toEqual([])

      // A bound that is taken back counts from the next attempt on.
      const webhooks = [{ id: settings.webhooks[0]?.id, url: slow.url, maxPerSecond: null }]
      expect((await node.api<Destination>('PATCH', `/destinations/${id}`, { settings: { webhooks } })).status).toBe(200)
      takenAtOnce(await ended(paced, 40))
    },
  )

  it('gets a retry after its pause, and no later because it is paced', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer((_, index) => ({ status: index < 5 ? 429 : 200, headers: { 'retry-after': '1' } }))
    const source = await node.createSource('Refused at first')
    await node.connect([source], [receiver.url], { options: { maxPerSecond: 10 } })
    await flood(source, 30)
    const deliveries = await ended(source, 30)
    expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['delivered']))
    expect(deliveries.reduce((sum, { attempts }) => sum + (attempts ?? 0), 0)).toBe(35)
  })

  it('gets the calls of a sync within its bounds', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    const { id } = await node.connect([], [receiver.url], { options: { maxPerSecond: 20 } })
    const audience = await createAudience(node, [id], { name: 'Paced' })
    await upload(
      node,
      audience,
      Array.from({ length: 60 }, (_, n) => `u${n}`),
    )
    await receiver.received(60)
    expect(ratePerSecond(receiver.requests)).toBeLessThan(40)
  })
})
