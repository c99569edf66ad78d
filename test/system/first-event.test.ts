import { expect, it } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'

it('carries an event to the endpoint of its source', async () => {
  await using node = await startTestApp()
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const { status } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Hello' })
  expect(status).toBe(200)
  const [request] = await receiver.received(1)
  expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ type: 'track', userId: 'u1', event: 'Hello' })
})
