/** Endpoints that want their requests in another way than usual. */

import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination, WebhookInput } from '../../src/schemas/destination.ts'
import type { EndpointTest } from '../../src/schemas/endpoint-test.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limit = 120_000
const secret = 'a secret of the receiver'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const send = async (source: Source, event: object): Promise<string> => {
  const messageId = randomUUID()
  expect(
    (await node.post('/track', source.writeKey, { userId: 'u1', event: 'Ordered', messageId, ...event })).status,
  ).toBe(200)
  return messageId
}

const detailOf = async (source: Source, messageId: string): Promise<DeliveryDetail> =>
  (await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(`event/${source.id}/${messageId}`)}`)).body

const ended = (source: Source, messageId: string): Promise<DeliveryDetail> =>
  until('the delivery has ended', async () => {
    const detail = await detailOf(source, messageId)
    return detail.endedAt === null ? undefined : detail
  })

const fieldsOf = ({ body }: ReceivedRequest): [string, string][] => [...new URLSearchParams(body.toString('utf8'))]

describe.concurrent('an endpoint', () => {
  it('gets a form by PUT, signed over its bytes, the same in each attempt', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 503 }, {})
    const source = await node.createSource()
    await node.connect([source], [receiver.url], {
      sharedSecret: secret,
      options: { method: 'PUT', contentType: 'form' },
    })
    const timestamp = '2026-02-03T04:05:06.789Z'
    const properties = { total: 19.5, paid: true, note: null, 'a b': 'ä&=✓', none: [], items: [{ sku: 'x' }, 'y'] }
    const messageId = await send(source, { timestamp, properties, context: {} })
    const { attempts, requests } = await ended(source, messageId)
    expect(attempts).toBe(2)
    const [first, second] = await receiver.received(2)
    if (first === undefined || second === undefined) throw new Error('nothing arrived')
    expect(second.body).toEqual(first.body)
    expect(first.method).toBe('PUT')
    expect(first.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(first.headers['x-signature']).toBe(createHmac('sha1', secret).update(first.body).digest('hex'))
    expect(fieldsOf(first)).toEqual([
      ['version', '1'],
      ['type', 'track'],
      ['messageId', messageId],
      ['timestamp', timestamp],
      ['userId', 'u1'],
      ['event', 'Ordered'],
      ['properties[total]', '19.5'],
      ['properties[paid]', 'true'],
      ['properties[note]', ''],
      ['properties[a b]', 'ä&=✓'],
      ['properties[items][0][sku]', 'x'],
      ['properties[items][1]', 'y'],
    ])
    expect(requests).toMatchObject([{ method: 'PUT', body: first.body.toString('utf8') }])
  })

  it('has as long for its answer as it is given', { timeout: limit }, async ({ expect }) => {
    await using slow = await startReceiver()
    await using silent = await startReceiver()
    slow.answer({ delayMs: 12_000 })
    silent.answerInTurn('hang', {})
    const source = await node.createSource()
    await node.connect([source], [slow.url], { options: { timeoutSeconds: 30 } })
    await node.connect([source], [silent.url], { options: { timeoutSeconds: 1, method: 'PATCH' } })
    const { status, timeline } = await ended(source, await send(source, {}))
    expect(status).toBe('delivered')
    expect(slow.requests).toHaveLength(1)
    const error = `127.0.0.1:${silent.port} did not answer within 1 second.`
    expect(timeline).toContainEqual(expect.objectContaining({ status: null, error }))
    expect(new Set(silent.requests.map(({ method }) => method))).toEqual(new Set(['PATCH']))
  })

  it('takes an event by the statuses that it names, and by no others', async ({ expect }) => {
    const statuses = [404, 302, 410, 409, 204]
    const receivers = await Promise.all(statuses.map(() => startReceiver()))
    receivers.forEach((receiver, index) => receiver.answer({ status: statuses[index] ?? 0 }))
    const source = await node.createSource()
    const urls = receivers.map(({ url }) => url)
    const options = { successStatuses: [404, '300-303', '410-499'] }
    await node.connect([source], urls, { options, successPolicy: 'all' })
    const { destinations } = await ended(source, await send(source, {}))
    expect(destinations[0]?.endpoints.map(({ status }) => status)).toEqual([
      'delivered',
      'delivered',
      'delivered',
      'failed',
      'delivered',
    ])
    await Promise.all(receivers.map((receiver) => receiver.close()))
  })

  it('is tested as its draft says, and as it is saved for what the draft leaves out', async ({ expect }) => {
    await using receiver = await startReceiver()
    const { id, settings } = await node.connect([], [receiver.url], { options: { method: 'PUT', contentType: 'form' } })
    const webhooks = [{ id: settings.webhooks[0]?.id, url: receiver.url, contentType: 'json' }]
    const { body } = await node.api<EndpointTest>('POST', '/destinations/test', {
      destinationId: id,
      settings: { webhooks },
    })
    expect(body.results).toMatchObject([{ outcome: 'delivered', request: { method: 'PUT' } }])
    const [request] = await receiver.received(1)
    expect(request).toMatchObject({ method: 'PUT', headers: { 'content-type': 'application/json' } })
  })

  it('keeps what a change leaves out, and goes back to the usual by its name', async ({ expect }) => {
    const options = {
      method: 'PATCH',
      contentType: 'form',
      timeoutSeconds: 20,
      maxPerSecond: 5,
      maxConcurrent: 2,
      retryWindowHours: 48,
      retryPauses: { firstSeconds: 1, maxSeconds: 60 },
    } as const
    const { id, settings } = await node.connect([], ['http://127.0.0.1:9/hook'], { options })
    expect(settings.webhooks).toMatchObject([options])
    const change = async (webhook: WebhookInput) =>
      (await node.api<Destination>('PATCH', `/destinations/${id}`, { settings: { webhooks: [webhook] } })).body
    const moved = await change({ url: 'http://127.0.0.1:9/moved', timeoutSeconds: 5, maxPerSecond: null })
    const [{ id: endpointId, url, headers }] = moved.settings.webhooks as [Destination['settings']['webhooks'][number]]
    const { retryWindowHours, retryPauses } = options
    const left = { method: 'PATCH', contentType: 'form', maxConcurrent: 2, retryWindowHours, retryPauses }
    expect(moved.settings.webhooks).toEqual([{ id: endpointId, url, headers, ...left }])
    const asUsual = { method: 'POST', contentType: 'json', maxConcurrent: null } as const
    const asDestination = { retryWindowHours: null, retryPauses: null }
    const usual = await change({ id: endpointId, url, ...asUsual, ...asDestination })
    expect(usual.settings.webhooks).toEqual([{ id: endpointId, url, headers }])
  })

  it.each([
    ['method', 'GET'],
    ['contentType', 'xml'],
    ['timeoutSeconds', 0],
    ['timeoutSeconds', 31],
    ['timeoutSeconds', 1.5],
    ['successStatuses', 404],
    ['maxPerSecond', 0],
    ['maxPerSecond', 1_001],
    ['maxPerSecond', 2.5],
    ['maxConcurrent', 0],
    ['maxConcurrent', 129],
    ['retryWindowHours', 0],
    ['retryWindowHours', 73],
    ['retryWindowHours', 1.5],
  ])('whose %s is %j is refused by the name of the member', async (member, value) => {
    const settings = { webhooks: [{ url: 'http://127.0.0.1:9/', [member]: value }] }
    const answer = await node.api('POST', '/destinations', { name: 'Odd', type: 'webhooks', settings })
    expect(answer).toMatchObject({ status: 400, body: { path: `settings.webhooks[0].${member}` } })
  })

  it.each([
    [{ firstSeconds: 0, maxSeconds: 60 }, 'firstSeconds'],
    [{ firstSeconds: 1, maxSeconds: 9 }, 'maxSeconds'],
    [{ firstSeconds: 61, maxSeconds: 60 }, 'maxSeconds'],
    [{ firstSeconds: 1 }, 'maxSeconds'],
  ])('whose pauses are %j is refused by the name of the member', async (retryPauses, member) => {
    const settings = { webhooks: [{ url: 'http://127.0.0.1:9/', retryPauses }] }
    const answer = await node.api('POST', '/destinations', { name: 'Odd', type: 'webhooks', settings })
    expect(answer).toMatchObject({ status: 400, body: { path: `settings.webhooks[0].retryPauses.${member}` } })
  })

  it.each([503, 299, '404', '499-400', '400-500', '300 - 302'])(
    'that takes events by %j is refused',
    async (status) => {
      const settings = { webhooks: [{ url: 'http://127.0.0.1:9/', successStatuses: [status] }] }
      const answer = await node.api('POST', '/destinations', { name: 'Odd', type: 'webhooks', settings })
      const message = expect.stringContaining('must be a status from 300 to 499, or a range of them') as string
      expect(answer).toMatchObject({
        status: 400,
        body: { path: 'settings.webhooks[0].successStatuses[0]', message },
      })
    },
  )
})
