/** Symptom: a search attribute was missing in the namespace after a restore, and every event in the inbox stood as failed.
 *  Cause: Temporal says "invalid argument" of such a start, which was taken for a refusal of the event for good.
 *  Consequence: the fault is the namespace's: events wait, and the attribute is made again. */

import { pino } from 'pino'
import { expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { startTestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limitMs = 100_000

it('keeps and delivers what comes while a search attribute is missing', { timeout: 150_000 }, async () => {
  await using node = await startTestApp({ logger: pino({ level: 'silent' }) })
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const { connection, namespace } = node.app.temporal
  const attributes = async (): Promise<string[]> =>
    Object.keys((await connection.operatorService.listSearchAttributes({ namespace })).customAttributes)

  await connection.operatorService.removeSearchAttributes({ namespace, searchAttributes: ['PostriderType'] })
  expect(await attributes()).not.toContain('PostriderType')
  const arrived = (): Set<string> =>
    new Set(receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId))
  const sent: string[] = []
  const track = (messageId: string) => ({ type: 'track', event: 'Kept', userId: 'u1', messageId })
  // Caches of the server may know the attribute for a while: events go on coming until it is made again.
  await until(
    'the attribute is made again',
    async () => {
      const [single, first, second] = [`single-${sent.length}`, `first-${sent.length}`, `second-${sent.length}`]
      // More than are started while their caller waits.
      const batch = Array.from({ length: 9 }, (_, n) => `${first}-${n}`)
      expect((await node.post('/track', source.writeKey, track(single))).status).toBe(200)
      expect((await node.post('/batch', source.writeKey, { batch: [...batch, second].map(track) })).status).toBe(200)
      sent.push(single, ...batch, second)
      return (await attributes()).includes('PostriderType')
    },
    limitMs,
  )
  await until('all have arrived', () => arrived().size === sent.length, limitMs)
  const { body } = await node.api<Page<Delivery>>('GET', '/deliveries?status=failed')
  expect(body.items).toEqual([])
})
