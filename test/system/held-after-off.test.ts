/** A delivery that one destination held until it was switched off, and that goes on at another one. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({
    environment: { POSTRIDER_RETRY_INITIAL: '30m', POSTRIDER_RETRY_MAX: '1h', POSTRIDER_RETRY_WINDOW: '4h' },
  })
})
afterAll(() => node[Symbol.asyncDispose]())

it('is held no longer once the destination that held it is switched off', { timeout: 120_000 }, async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  const held = await node.connect([source], [`${receiver.url}/held`])
  await node.connect([source], [`${receiver.url}/retried`])
  await node.api('PATCH', `/destinations/${held.id}`, { paused: true })
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'E', messageId: 'm1' })
  const count = async (status: string) =>
    (await node.api<{ count: number }>('GET', `/deliveries/count?sourceId=${source.id}&status=${status}`)).body.count
  await until('it is held', async () => (await count('held')) === 1)
  await node.api('PATCH', `/destinations/${held.id}`, { enabled: false })
  const path = `/deliveries/${encodeURIComponent(`event/${source.id}/m1`)}`
  const read = async () => (await node.api<DeliveryDetail>('GET', path)).body
  await until('the destination has given it up', async () => (await read()).destinations[0]?.status === 'discarded')
  // Its only open destination is the one that tries again.
  expect((await read()).destinations.map(({ status }) => status)).toEqual(['discarded', 'retrying'])
  await until(
    'it is told to be retrying',
    async () => (await count('retrying')) === 1 && (await read()).status === 'retrying',
    20_000,
  )
  const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}`)
  expect(body.items.map(({ status }) => status)).toEqual(['retrying'])
})
