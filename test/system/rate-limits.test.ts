/** Bounds of senders on a whole node, as its settings name them. */

import { expect, it } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { until } from '../support/wait.ts'

it('a source and an address are answered 429 beyond what the settings let them send', async () => {
  await using node = await startTestApp({
    environment: { POSTRIDER_MAX_EVENTS_PER_SOURCE: '10', POSTRIDER_MAX_REQUESTS_PER_ADDRESS: '3' },
  })
  const { writeKey } = await node.createSource()
  const batch = Array.from({ length: 1_000 }, () => ({ type: 'track', userId: 'u', event: 'E' }))
  expect((await node.post('/batch', writeKey, { batch })).status).toBe(200)
  const refused = (message: string) =>
    until(message, async () => {
      const { status, body } = await node.post('/track', writeKey, { userId: 'u', event: 'E' })
      expect(status).toBe(429)
      return String(body['message']).startsWith(message)
    })
  await refused('This source may send 10 events a second')
  await refused('One address may send 3 requests a second')
})
