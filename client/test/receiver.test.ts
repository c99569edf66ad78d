/** Signature checks against published vectors and a reference library, and the handlers behind real servers. */

import { createHmac } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import {
  expressReceiver,
  fastifyReceiver,
  fetchReceiver,
  verifySignature,
  verifyStandardWebhook,
} from '@postrider/analytics/receiver'
import type { DeliveredMessage, ReceiverOptions } from '@postrider/analytics/receiver'
import express from 'express'
import fastify from 'fastify'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'

const secret = 'the shared secret'
const sign = (body: string) => createHmac('sha1', secret).update(body).digest('hex')

describe('verifySignature', () => {
  it('accepts the test case of RFC 2202 for HMAC-SHA1, as text and as bytes', () => {
    const body = 'what do ya want for nothing?'
    const header = 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'
    expect(verifySignature(body, header, 'Jefe')).toBe(true)
    expect(verifySignature(new TextEncoder().encode(body), header, 'Jefe')).toBe(true)
    for (const wrong of [header.replace('e', 'f'), header.toUpperCase(), header.slice(1), `${header} `, '', null]) {
      expect(verifySignature(body, wrong, 'Jefe')).toBe(false)
    }
    expect(verifySignature(`${body} `, header, 'Jefe')).toBe(false)
    expect(verifySignature(body, header, 'jefe')).toBe(false)
  })

  it('throws without a secret', () => {
    for (const none of ['', [], ['a', '']]) expect(() => verifySignature('', '', none)).toThrow(TypeError)
  })
})

describe('verifyStandardWebhook', () => {
  const body = '{"test": 2432232314}'
  const example = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const at = (seconds: number) => new Date((1_614_265_330 + seconds) * 1_000)

  it('accepts the published example within 5 minutes, also among other signatures', () => {
    for (const seconds of [0, 300, -300]) expect(verifyStandardWebhook(body, example, key, at(seconds))).toBe(true)
    for (const seconds of [301, -301]) expect(verifyStandardWebhook(body, example, key, at(seconds))).toBe(false)
    const several = { ...example, 'webhook-signature': `v1,AAAA ${example['webhook-signature']} v2,BBBB` }
    expect(verifyStandardWebhook(body, several, key, at(0))).toBe(true)
    expect(verifyStandardWebhook(body, example, ['another', key], at(0))).toBe(true)
    expect(verifyStandardWebhook(body, example, ['another', 'a third'], at(0))).toBe(false)
  })

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('refuses a wrong or missing %s', (name) => {
    for (const value of [undefined, null, '', 'other', '1614265331']) {
      expect(verifyStandardWebhook(body, { ...example, [name]: value }, key, at(0))).toBe(false)
    }
  })

  it('takes a whsec_ secret without its padding as the library does', () => {
    const secret = 'whsec_YWJjZGVmZw'
    const reference = new Webhook(secret)
    const headers = { ...example, 'webhook-signature': reference.sign(example['webhook-id'], at(0), body) }
    expect(verifyStandardWebhook(body, headers, secret, at(0))).toBe(true)
  })

  it.each(['whsec_not base64!', 'plain secret', 'dGV4dA=='])('takes %s as its own bytes', (plain) => {
    const reference = new Webhook(Buffer.from(plain), { format: 'raw' })
    const headers = { ...example, 'webhook-signature': reference.sign(example['webhook-id'], at(0), body) }
    expect(verifyStandardWebhook(body, headers, plain, at(0))).toBe(true)
  })
})

type Start = (options: ReceiverOptions) => Promise<string>

const startExpress =
  (...before: express.RequestHandler[]): Start =>
  async (options) => {
    const app = express()
    before.forEach((handler) => app.use(handler))
    app.use('/hook', expressReceiver(options))
    app.use(((_error, _request, response, _next) => {
      response.status(500).end()
    }) satisfies express.ErrorRequestHandler)
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    onTestFinished(() => void server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  }

const startFastify: Start = async (options) => {
  const app = fastify()
  await app.register(fastifyReceiver({ path: '/hook', ...options }))
  app.post('/json', (request) => request.body)
  onTestFinished(() => app.close())
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/hook`
}

const body = '{"version":1,"type":"track","event":"Bückware gekauft","timestamp":"2026-01-01T00:00:00.000Z"}'
const post = (url: string, headers: Record<string, string>, text = body) =>
  fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: text })

describe.each([
  ['Express', startExpress()],
  ['Express after express.json', startExpress(express.json())],
  ['Express after express.raw', startExpress(express.raw({ type: '*/*' }))],
  ['Fastify', startFastify],
])('the handler for %s', (_name, start) => {
  it('passes on what is authentic, and nothing else', async () => {
    const messages: DeliveredMessage[] = []
    const url = await start({ secret, onMessage: (message) => void messages.push(message) })
    expect((await post(url, { 'X-Signature': sign(body) })).status).toBe(204)
    expect((await post(url, { 'X-Signature': sign(`${body} `) })).status).toBe(401)
    expect((await post(url, {})).status).toBe(401)
    expect((await post(url, { 'X-Signature': sign('[1]') }, '[1]')).status).toBe(400)
    expect(messages).toEqual([JSON.parse(body)])
  })

  it('takes what is signed with any of several secrets, while one is being replaced', async () => {
    const url = await start({ secret: ['the next secret', secret], onMessage: () => {} })
    const signedBy = (key: string) => createHmac('sha1', key).update(body).digest('hex')
    for (const key of ['the next secret', secret])
      expect((await post(url, { 'X-Signature': signedBy(key) })).status).toBe(204)
    expect((await post(url, { 'X-Signature': signedBy('another') })).status).toBe(401)
  })

  it('checks Standard Webhooks', async () => {
    const messages: DeliveredMessage[] = []
    const options = { secret, scheme: 'standard-webhooks' as const }
    const url = await start({ ...options, onMessage: (message) => void messages.push(message) })
    const now = new Date()
    const headers = {
      'webhook-id': 'm1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(Buffer.from(secret), { format: 'raw' }).sign('m1', now, body),
    }
    expect((await post(url, headers)).status).toBe(204)
    expect((await post(url, { ...headers, 'webhook-id': 'm2' })).status).toBe(401)
    expect(messages).toHaveLength(1)
  })

  it('answers 500 when onMessage fails, so that the message comes again', async () => {
    const url = await start({ secret, onMessage: () => Promise.reject(new Error('database is down')) })
    expect((await post(url, { 'X-Signature': sign(body) })).status).toBe(500)
  })
})

describe('a body over 1 MiB', () => {
  const large = JSON.stringify({ type: 'track', text: 'x'.repeat(1_048_576) })

  it.each([
    ['Express', startExpress()],
    ['Fastify', startFastify],
  ])('is refused by %s', async (_name, start) => {
    const url = await start({ secret, onMessage: () => {} })
    const { status } = await post(url, { 'X-Signature': sign(large) }, large)
    expect(status).toBe(413)
  })
})

describe('the handler for Request and Response', () => {
  const messages: DeliveredMessage[] = []
  const handle = fetchReceiver({ secret, onMessage: (message) => void messages.push(message) })
  const request = (text: string, signature: string, method = 'POST') =>
    new Request('https://receiver.example/hook', {
      method,
      headers: { 'X-Signature': signature },
      ...(method === 'POST' && { body: text }),
    })

  it('passes on what is authentic, and nothing else', async () => {
    expect((await handle(request(body, sign(body)))).status).toBe(204)
    expect((await handle(request(body, sign('other')))).status).toBe(401)
    expect((await handle(request('no JSON', sign('no JSON')))).status).toBe(400)
    expect((await handle(request('', '', 'GET'))).status).toBe(405)
    const large = 'x'.repeat(1_048_577)
    expect((await handle(request(large, sign(large)))).status).toBe(413)
    expect(messages).toEqual([JSON.parse(body)])
  })

  it('answers 500 when onMessage throws, so that the sender comes again, and prints why', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => printed.mockRestore())
    const why = new Error('database is down')
    for (const onMessage of [
      () => Promise.reject(why),
      () => {
        throw why
      },
    ])
      expect((await fetchReceiver({ secret, onMessage })(request(body, sign(body)))).status).toBe(500)
    expect(printed.mock.calls).toEqual([[why], [why]])
  })
})
