import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'

const standardHeaders = ({ headers }: ReceivedRequest): Record<string, string> => ({
  'webhook-id': String(headers['webhook-id']),
  'webhook-timestamp': String(headers['webhook-timestamp']),
  'webhook-signature': String(headers['webhook-signature']),
})

const verifies = (request: ReceivedRequest, secret: string): boolean => {
  try {
    new Webhook(secret, { format: 'raw' }).verify(request.body, standardHeaders(request))
    return true
  } catch {
    return false
  }
}

it('a replaced secret signs beside the new one for the time chosen, and not after it', async () => {
  await using node = await startTestApp()
  await using receiver = await startReceiver()
  const source = await node.createSource()
  const destination = await node.connect([source], [receiver.url], { sharedSecret: 'first secret' })
  const rotate = (sharedSecret: string, secretOverlapSeconds: number) =>
    node.api('PATCH', `/destinations/${destination.id}`, { settings: { sharedSecret, secretOverlapSeconds } })
  const next = async (): Promise<ReceivedRequest> => {
    const before = receiver.requests.length
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Signed' })
    const request = (await receiver.received(before + 1)).at(-1)
    if (request === undefined) throw new Error('nothing arrived')
    return request
  }

  expect((await rotate('second secret', 3_600)).status).toBe(200)
  const during = await next()
  expect([verifies(during, 'second secret'), verifies(during, 'first secret')]).toEqual([true, true])
  expect(during.headers['x-signature']).toBe(createHmac('sha1', 'second secret').update(during.body).digest('hex'))

  expect((await rotate('third secret', 0)).status).toBe(200)
  const after = await next()
  expect(verifies(after, 'third secret')).toBe(true)
  expect([verifies(after, 'second secret'), verifies(after, 'first secret')]).toEqual([false, false])
})
