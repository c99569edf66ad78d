/** Events that would have to wait travel in parcels: delivered once each, listed one by one, whatever happens beneath. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const track = (messageId: string) => ({ type: 'track', userId: 'u1', event: 'Carried', messageId })
const ids = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

describe('a flood', () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp({ logger: pino({ level: process.env['TEST_LOG'] ?? 'error' }) })
  }, 60_000)
  afterAll(() => node[Symbol.asyncDispose]())

  it('travels in parcels, and each event arrives once', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const messageIds = ids('flood', 2_000)
    const begun = performance.now()
    for (let start = 0; start < messageIds.length; start += 500) {
      const batch = messageIds.slice(start, start + 500).map(track)
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
    }
    console.log('posted', performance.now() - begun)
    await until('all have arrived', () => receiver.requests.length >= messageIds.length, 60_000)
    console.log('arrived', performance.now() - begun)
    const arrived = receiver.requests.map(
      ({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId,
    )
    expect(arrived.toSorted()).toEqual(messageIds.toSorted())
    const { count } = await node.app.temporal.client.workflow.count(`WorkflowType = 'deliverParcel'`)
    expect(count).toBeGreaterThan(10)
  }, 90_000)
})
