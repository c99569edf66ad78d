/** Destinations with a retry window of their own. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { list, track, untilStatus } from '../support/deliveries.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limit = 180_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_RETRY_WINDOW: '3s' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const setWindow = async (id: string, retryWindowHours: number | null) =>
  node.api<{ retryWindowHours: number | null; path?: string }>('PATCH', `/destinations/${id}`, { retryWindowHours })

/** Posts so many events at once. */
const flood = async ({ writeKey }: Source, count: number): Promise<void> => {
  const batch = Array.from({ length: count }, (_, n) => ({ type: 'track', userId: `u${n}`, event: 'Ordered' }))
  expect((await node.post('/batch', writeKey, { batch })).status).toBe(200)
}

const all = (source: Source): Promise<Delivery[]> => list(node, { sourceId: source.id, limit: '200' })

/** Resolves when so many deliveries of the source have that status, and there are no others. */
const allAre = (source: Source, count: number, status: string): Promise<unknown> =>
  until(`${count} are ${status}`, async () => {
    const items = await all(source)
    return items.length === count && items.every((item) => item.status === status)
  })

it('retry for as long as is set there, whether events travel alone or together', { timeout: limit }, async () => {
  await using receiver = await startReceiver()
  await using other = await startReceiver()
  for (const one of [receiver, other]) one.answer({ status: 503 })
  const [patient, short] = [await node.createSource('Patient'), await node.createSource('Short')]
  const { id } = await node.connect([patient], [receiver.url])
  await node.connect([short], [other.url])
  expect((await setWindow(id, 1)).body.retryWindowHours).toBe(1)

  const alone = await track(node, patient, { userId: 'u1', event: 'Alone', messageId: 'alone' })
  await Promise.all([flood(patient, 60), flood(short, 60)])
  await allAre(short, 60, 'failed')
  // Those of the other destination came before the newest of these.
  expect((await all(patient)).filter(({ endedAt }) => endedAt !== null)).toEqual([])

  receiver.answer({})
  await untilStatus(node, alone, 'delivered')
  await allAre(patient, 61, 'delivered')
})

it('are as the node is set up unless they say otherwise, and refuse what is out of bounds by name', async () => {
  const { id, retryWindowHours } = await node.connect([], [])
  expect(retryWindowHours).toBeNull()
  for (const hours of [0, 73, 1.5])
    expect(await setWindow(id, hours)).toMatchObject({ status: 400, body: { path: 'retryWindowHours' } })
  expect((await setWindow(id, 72)).body.retryWindowHours).toBe(72)
  expect((await setWindow(id, null)).body.retryWindowHours).toBeNull()
})
