import { createHmac } from 'node:crypto'
import { fetchReceiver, type DeliveredMessage } from '@postrider/analytics/receiver'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

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

/** Whether `X-Signature`, which can carry one signature, is made with this secret. */
const isSignedWith = ({ headers, body }: ReceivedRequest, secret: string): boolean =>
  headers['x-signature'] === createHmac('sha1', secret).update(body).digest('hex')

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
  expect(isSignedWith(during, 'first secret')).toBe(true)

  expect((await rotate('third secret', 0)).status).toBe(200)
  const after = await next()
  expect([verifies(after, 'third secret'), isSignedWith(after, 'third secret')]).toEqual([true, true])
  expect([verifies(after, 'second secret'), verifies(after, 'first secret')]).toEqual([false, false])
})

it('is replaced without a refusal at a receiver that learned the new one first, with the same bytes in each attempt', async () => {
  await using node = await startTestApp()
  await using receiver = await startReceiver()
  const source = await node.createSource()
  const destination = await node.connect([source], [receiver.url], { sharedSecret: 'old secret' })
  const accepted: DeliveredMessage[] = []
  const handle = fetchReceiver({
    secret: ['new secret', 'old secret'],
    onMessage: (message) => void accepted.push(message),
  })
  const verdict = async ({ headers, body }: ReceivedRequest): Promise<number> =>
    (await handle(new Request(receiver.url, { method: 'POST', headers: headers as Record<string, string>, body })))
      .status

  receiver.answer({ status: 503 })
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Signed' })
  await receiver.received(1)
  const settings = { sharedSecret: 'new secret', secretOverlapSeconds: 2 }
  await node.api('PATCH', `/destinations/${destination.id}`, { settings })
  await until('an attempt is signed with the new secret alone', () =>
    receiver.requests.some((one) => isSignedWith(one, 'new secret')),
  )
  receiver.answer({ status: 200 })
  const attempts = [...receiver.requests]
  const isOld = attempts.map((one) => isSignedWith(one, 'old secret'))
  expect(isOld).toEqual([...isOld].sort((a, b) => Number(b) - Number(a)))
  expect(attempts.filter((one) => verifies(one, 'old secret') && verifies(one, 'new secret')).length).toBeGreaterThan(0)
  expect(await Promise.all(attempts.map(verdict))).toEqual(attempts.map(() => 204))
  expect(accepted).toHaveLength(attempts.length)
  expect(new Set(attempts.map(({ body }) => body.toString())).size).toBe(1)
})
