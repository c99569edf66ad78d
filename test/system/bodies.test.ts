import { execFileSync } from 'node:child_process'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { deliveryOf } from './deliveries.ts'

const secret = 'sécret ✓ with blanks'
const timestamp = '2026-02-03T04:05:06.789Z'
const staticHeaders = { 'X-Team': 'growth', Authorization: 'Bearer of-the-receiver' }

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

/** Digest of an implementation that is not ours. */
const opensslSha1 = (key: string, body: Buffer): string =>
  execFileSync('openssl', ['dgst', '-sha1', '-hmac', key], { input: body, encoding: 'utf8' })
    .trim()
    .split(' ')
    .at(-1) ?? ''

const headerPairs = ({ rawHeaders }: ReceivedRequest): [string, string][] =>
  rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ''] as [string, string]] : [],
  )

const bodyOf = (request: ReceivedRequest | undefined): string => request?.body.toString('utf8') ?? ''

interface Call {
  type: string
  sent: Record<string, unknown>
  delivered: string
}

const context = { ip: '203.0.113.9', locale: 'de-DE' }
const contextJson = '"context":{"ip":"203.0.113.9","locale":"de-DE"}'

const calls: Call[] = [
  {
    type: 'track',
    sent: {
      userId: 'u1',
      anonymousId: 'a1',
      event: 'Ordered ✓',
      properties: { total: 19.5, items: [1, 'b', null] },
      context,
    },
    delivered: `{"version":1,"type":"track","messageId":"m-track","timestamp":"${timestamp}","userId":"u1","anonymousId":"a1","event":"Ordered ✓","properties":{"total":19.5,"items":[1,"b",null]},${contextJson}}`,
  },
  {
    type: 'page',
    sent: {
      userId: 'u1',
      name: 'Home',
      category: 'Docs',
      properties: { path: '/', referrer: '', title: 'Home', url: 'https://example.com/' },
      context,
    },
    delivered: `{"version":1,"type":"page","messageId":"m-page","timestamp":"${timestamp}","userId":"u1","name":"Home","category":"Docs","properties":{"path":"/","referrer":"","title":"Home","url":"https://example.com/"},${contextJson}}`,
  },
  {
    type: 'screen',
    sent: {
      userId: 'u1',
      name: 'Home',
      context: {
        device: { model: 'Phone 1', type: 'phone' },
        os: { name: 'Phone OS', version: '1.0' },
        app: { build: '1', name: 'Example', version: '1.0' },
      },
    },
    delivered: `{"version":1,"type":"screen","messageId":"m-screen","timestamp":"${timestamp}","userId":"u1","name":"Home","context":{"device":{"model":"Phone 1","type":"phone"},"os":{"name":"Phone OS","version":"1.0"},"app":{"build":"1","name":"Example","version":"1.0"}}}`,
  },
  {
    type: 'identify',
    sent: { userId: 'u1', traits: { name: 'Ann', plan: { seats: 5 } }, context },
    delivered: `{"version":1,"type":"identify","messageId":"m-identify","timestamp":"${timestamp}","userId":"u1","traits":{"name":"Ann","plan":{"seats":5}},${contextJson}}`,
  },
  {
    type: 'group',
    sent: { userId: 'u1', groupId: 'g1', traits: { name: 'Example Inc.' }, context },
    delivered: `{"version":1,"type":"group","messageId":"m-group","timestamp":"${timestamp}","userId":"u1","groupId":"g1","traits":{"name":"Example Inc."},${contextJson}}`,
  },
  {
    type: 'alias',
    sent: { userId: 'u2', previousId: 'u1', context },
    delivered: `{"version":1,"type":"alias","messageId":"m-alias","timestamp":"${timestamp}","userId":"u2","Previous ID":"u1","User ID":"u2",${contextJson}}`,
  },
]

describe('a delivered request', () => {
  let receiver: Receiver
  let source: Source
  beforeAll(async () => {
    receiver = await startReceiver()
    source = await node.createSource()
    await node.connect([source], [`${receiver.url}/hooks/in?team=a%20b`], {
      sharedSecret: secret,
      headers: staticHeaders,
    })
  })
  afterAll(() => receiver.close())

  const deliveredBy = async (send: () => Promise<unknown>): Promise<ReceivedRequest> => {
    const before = receiver.requests.length
    await send()
    const request = (await receiver.received(before + 1))[before]
    if (request === undefined) throw new Error('nothing arrived')
    return request
  }

  const expectOurs = (request: ReceivedRequest, messageId: string): void => {
    const digest = opensslSha1(secret, request.body)
    expect(digest).toMatch(/^[0-9a-f]{40}$/)
    const { 'webhook-timestamp': sentAt = '', 'webhook-signature': signature = '' } = request.headers
    expect(request.method).toBe('POST')
    expect(request.path).toBe('/hooks/in?team=a%20b')
    expect(headerPairs(request)).toEqual([
      ['host', `127.0.0.1:${receiver.port}`],
      ['connection', 'keep-alive'],
      ['User-Agent', 'Postrider/1.0'],
      ['Content-Type', 'application/json'],
      ['X-Signature', digest],
      ['webhook-id', messageId],
      ['webhook-timestamp', sentAt],
      ['webhook-signature', signature],
      ['X-Team', 'growth'],
      ['Authorization', 'Bearer of-the-receiver'],
      ['content-length', String(request.body.length)],
    ])
    const verifier = new Webhook(`whsec_${Buffer.from(secret, 'utf8').toString('base64')}`)
    expect(verifier.verify(request.body, request.headers as Record<string, string>)).toEqual(
      JSON.parse(bodyOf(request)),
    )
    // A receiver that digests its parsed body, serialized again, comes to the same: `spec/`, "Authentication".
    expect(opensslSha1(secret, Buffer.from(JSON.stringify(JSON.parse(bodyOf(request)))))).toBe(digest)
  }

  it.each(calls)(
    'of a $type call has this body, these headers and these signatures',
    async ({ type, sent, delivered }) => {
      const messageId = `m-${type}`
      const request = await deliveredBy(() => node.post(`/${type}`, source.writeKey, { messageId, timestamp, ...sent }))
      expect(bodyOf(request)).toBe(delivered)
      expectOurs(request, messageId)
    },
  )

  it('of a deletion has type, userId and timestamp alone', async () => {
    const order = { userIds: ['u-gone'], sourceIds: [source.id] }
    const request = await deliveredBy(() => node.api('POST', '/deletion-requests', order))
    expect(bodyOf(request)).toMatch(
      /^\{"type":"delete","userId":"u-gone","timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"\}$/,
    )
    expectOurs(request, String(request.headers['webhook-id']))
  })
})

it('carries no signature when no secret is set', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Plain' })
  const [request] = await receiver.received(1)
  if (request === undefined) throw new Error('nothing arrived')
  expect(headerPairs(request).map(([name]) => name)).toEqual([
    'host',
    'connection',
    'User-Agent',
    'Content-Type',
    'content-length',
  ])
})

it('has the same bytes, signature and id in the first attempt, in retries and in the last one', async () => {
  await using receiver = await startReceiver()
  receiver.answerInTurn({ status: 503 }, { status: 503 }, { status: 500 }, {})
  const source = await node.createSource()
  await node.connect([source], [receiver.url], { sharedSecret: secret })
  // Members and values that a JSON round trip through the engine could reorder, escape or round.
  const properties = JSON.parse(
    `{"z":1,"10":"ten","9":"nine","a":{"":0,"__proto__":{"x":1}},"line":"\\u2028","lone":"\\ud800","big":1e21,"small":1e-7,"exact":9007199254740993,"minus":-0.5,"text":"ü \\"\\\\ \\u0001"}`,
  ) as Record<string, unknown>
  await node.post('/track', source.writeKey, { messageId: 'm-same', timestamp, userId: 'u1', event: 'E', properties })
  const requests = await receiver.received(4)
  await deliveryOf(node.app.temporal, source, 'm-same').result()
  const bodies = requests.map(bodyOf)
  expect(bodies).toEqual(Array(4).fill(bodies[0]))
  expect(bodies[0]).toContain(`"properties":${JSON.stringify(properties)}`)
  const digest = opensslSha1(secret, requests[0]?.body ?? Buffer.alloc(0))
  expect(requests.map(({ headers }) => [headers['x-signature'], headers['webhook-id']])).toEqual(
    Array(4).fill([digest, 'm-same']),
  )
})
