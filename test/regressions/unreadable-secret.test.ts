/** Symptom: a node did not start, and one that ran read no settings any more, when one stored secret could not be decrypted.
 *  Cause: all secrets were decrypted whenever settings were read.
 *  Consequence: secrets are decrypted when they are used. Deliveries to the destination concerned wait and say why; all others
 *  go on. Only a node whose keys open none of the secrets does not start. */

import { rm } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { pino } from 'pino'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { makeDataFolder, startTestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const keys = (...ids: string[]): Record<string, string> => ({
  POSTRIDER_ENCRYPTION_KEYS: ids.map((id) => `${id}:${Buffer.alloc(32, id).toString('base64')}`).join(','),
})

it('a secret that cannot be decrypted holds up its own destination alone, visibly', async () => {
  const dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true }))
  const namespace = await createNamespace()
  const [locked, open] = [await startReceiver(), await startReceiver()]
  onTestFinished(async () => {
    await Promise.all([locked.close(), open.close()])
  })
  const first = await startTestApp({ dataDir, namespace, environment: keys('k1') })
  const source = await first.createSource()
  const { id } = await first.connect([source], [locked.url], { sharedSecret: 'a secret', headers: { 'x-a': 'b' } })
  await first[Symbol.asyncDispose]()
  const second = await startTestApp({ dataDir, namespace, environment: keys('k2', 'k1') })
  await second.connect([source], [open.url], { sharedSecret: 'another' })
  await second[Symbol.asyncDispose]()

  await using node = await startTestApp({
    dataDir,
    namespace,
    environment: keys('k2'),
    logger: pino({ level: 'silent' }),
  })
  expect((await node.post('/track', source.writeKey, { userId: 'u1', event: 'Kept', messageId: 'm1' })).status).toBe(
    200,
  )
  await open.received(1)
  const waiting = await until('the delivery says what it waits for', async () => {
    const { items } = (await node.api<Page<Delivery>>('GET', '/deliveries?messageId=m1')).body
    const [delivery] = items
    if (delivery === undefined) return undefined
    const { body } = await node.api<{ timeline: { error: string | null }[] }>(
      'GET',
      `/deliveries/${encodeURIComponent(delivery.id)}`,
    )
    return body.timeline.find(({ error }) => error !== null)?.error
  })
  expect(waiting).toContain('its stored secrets cannot be read: the encryption key "k1"')
  expect(locked.requests).toEqual([])
  const { items } = (await node.api<Page<Destination>>('GET', '/destinations')).body
  expect(items.find((one) => one.id === id)).toMatchObject({
    settings: { hasSharedSecret: true, webhooks: [{ url: locked.url, headers: {} }] },
  })

  // Set anew, they can be read again.
  const webhooks = [{ id: items.find((one) => one.id === id)?.settings.webhooks[0]?.id, url: locked.url, headers: {} }]
  expect((await node.api('PATCH', `/destinations/${id}`, { settings: { sharedSecret: 'new', webhooks } })).status).toBe(
    200,
  )
  await locked.received(1)
})
