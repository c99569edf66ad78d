/** What was sent and answered in each attempt stays as it was, whatever becomes of the settings. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { CreatedApiToken } from '../../src/schemas/access.ts'
import { shownAttempts } from '../../src/delivery-log/shown-attempts.ts'
import type { DeliveryAttempt, DeliveryDetail } from '../../src/schemas/delivery.ts'
import { apiOf, startTestApp, type TestApp } from '../support/app.ts'
import { createCertificates } from '../support/certificates.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limitMs = 120_000

/** So many events at once share workflows. */
const flooded = 240

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { TEMPORAL_UI_URL: 'http://temporal.test' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const pathOf = (id: string, action = ''): string => `/deliveries/${encodeURIComponent(id)}${action}`
const read = async (id: string): Promise<DeliveryDetail> => (await node.api<DeliveryDetail>('GET', pathOf(id))).body
const untilStatus = (id: string, status: string): Promise<DeliveryDetail> =>
  until(
    `${id} is ${status}`,
    async () => {
      const detail = await read(id)
      return detail.status === status && detail
    },
    limitMs,
  )
const signaturesOf = ({ headers }: ReceivedRequest) => [
  headers['x-signature'],
  headers['webhook-id'],
  headers['webhook-timestamp'],
  headers['webhook-signature'],
]
const toldSignatures = ({ request }: DeliveryAttempt) =>
  ['X-Signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => request?.headers[name])

it('of a delivery stays as it was, of its failures and its success', { timeout: 2 * limitMs }, async () => {
  await using receiver = await startReceiver()
  await using elsewhere = await startReceiver()
  receiver.answerInTurn(
    { status: 503, body: 'not yet', headers: { 'x-try': '1', 'retry-after': '1' } },
    { status: 202, body: 'taken', headers: { 'x-try': '2', 'set-cookie': 'session=1' } },
  )
  const source = await node.createSource()
  const { id: destinationId, settings } = await node.connect([source], [receiver.url], {
    sharedSecret: 'then',
    headers: { 'X-Then': 'a secret of then' },
  })
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'E', messageId: 'm-1' })
  const id = eventWorkflowId(source.id, 'm-1')
  const before = await untilStatus(id, 'delivered')
  const [first, second] = receiver.requests
  expect(before.timeline).toMatchObject([
    {
      url: receiver.url,
      status: 503,
      excerpt: 'not yet',
      isFinal: false,
      retryAfterMs: 1_000,
      request: { method: 'POST', contentType: 'json' },
      isCut: false,
    },
    { url: receiver.url, status: 202, excerpt: 'taken', error: null, isFinal: null, retryAfterMs: null, isCut: false },
  ])
  expect(before.timeline.map(toldSignatures)).toEqual(
    [first, second].map((request) => request && signaturesOf(request)),
  )
  expect(before.timeline.map(({ request }) => request?.headers['X-Then'])).toEqual(['********', '********'])
  expect(before.timeline.map(({ response }) => response?.headers.find(({ name }) => name === 'x-try')?.value)).toEqual([
    '1',
    '2',
  ])
  expect(before.timeline[1]?.response?.headers).toContainEqual({ name: 'set-cookie', value: '********' })
  expect(JSON.stringify(before.timeline)).not.toContain('a secret of then')

  const [webhook] = settings.webhooks
  const { status } = await node.api('PATCH', `/destinations/${destinationId}`, {
    settings: {
      sharedSecret: 'now',
      webhooks: [
        { id: webhook?.id, url: elsewhere.url, method: 'PUT', contentType: 'form', headers: { 'X-Now': 'n' } },
      ],
    },
  })
  expect(status).toBe(200)
  expect((await read(id)).timeline).toEqual(before.timeline)

  const again = await node.api<{ id: string }>('POST', pathOf(id, '/redeliver'))
  const redelivered = await untilStatus(again.body.id, 'delivered')
  expect(redelivered.timeline).toMatchObject([{ url: elsewhere.url, request: { method: 'PUT', contentType: 'form' } }])
  expect(Object.keys(redelivered.timeline[0]?.request?.headers ?? {})).toContain('X-Now')
  expect((await read(id)).timeline).toEqual(before.timeline)

  await node.api('DELETE', `/destinations/${destinationId}`)
  expect((await read(id)).timeline).toEqual(before.timeline)
})

it('says which failure is final', { timeout: limitMs }, async () => {
  const { selfSigned } = await createCertificates()
  await using untrusted = await startReceiver({ tls: selfSigned })
  await using gone = await startReceiver()
  gone.answer({ status: 404 })
  const source = await node.createSource()
  await node.connect([source], [untrusted.url, gone.url])
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'E', messageId: 'final' })
  const { timeline } = await untilStatus(eventWorkflowId(source.id, 'final'), 'failed')
  expect(timeline.map(({ status, isFinal }) => ({ status, isFinal }))).toEqual(
    expect.arrayContaining([
      { status: null, isFinal: true },
      { status: 404, isFinal: true },
    ]),
  )
})

it('is read by viewers without signatures', { timeout: 2 * limitMs }, async () => {
  await using receiver = await startReceiver()
  receiver.answer({ body: 'ok', headers: { 'x-request-id': 'r-1' } })
  const source = await node.createSource()
  await node.connect([source], [receiver.url], { sharedSecret: 's' })
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'E', messageId: 'seen' })
  const id = eventWorkflowId(source.id, 'seen')
  await untilStatus(id, 'delivered')
  const { body: viewer } = await node.api<CreatedApiToken>('POST', '/tokens', { name: 'evidence', role: 'viewer' })
  const { body } = await apiOf(node.url, viewer.token).api<DeliveryDetail>('GET', pathOf(id))
  const [attempt] = body.timeline
  expect(attempt?.request?.headers).toMatchObject({
    'User-Agent': 'Postrider/1.0',
    'X-Signature': '********',
    'webhook-signature': '********',
  })
  expect(attempt?.response?.headers).toContainEqual({ name: 'x-request-id', value: 'r-1' })
})

it('of attempts that an earlier version made is not kept, but for the excerpt', async () => {
  const made = {
    endpointId: 'ep',
    at: '2026-01-01T00:00:00.000Z',
    durationMs: 5,
    status: 503,
    error: 'no',
    excerpt: 'later',
  }
  const expected = { url: null, status: 503, excerpt: 'later', request: null, response: null, isCut: false }
  expect(await shownAttempts(node.app.temporal, [made], 'm')).toMatchObject([expected])
})

describe('of events in parcels', () => {
  const messageIdOf = ({ body }: ReceivedRequest): string =>
    (JSON.parse(body.toString()) as { messageId: string }).messageId

  it('is kept of each attempt, however many', { timeout: 3 * limitMs }, async () => {
    await using receiver = await startReceiver()
    const tries = (messageId: string) => receiver.requests.filter((one) => messageIdOf(one) === messageId)
    // Every fourth event is tried three times.
    receiver.answer((request) => {
      const messageId = messageIdOf(request)
      const made = tries(messageId).length
      const fails = Number(messageId.slice(2)) % 4 === 0 && made < 3
      return { status: fails ? 503 : 200, body: `answer ${made}`, headers: { 'x-message': messageId } }
    })
    const source = await node.createSource()
    const { id: destinationId, settings } = await node.connect([source], [receiver.url], { sharedSecret: 's' })
    const batch = Array.from({ length: flooded }, (_, n) => ({
      type: 'track',
      event: 'Flooded',
      userId: `u-${n}`,
      messageId: `m-${n}`,
    }))
    expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
    const count = async (): Promise<number> =>
      (await node.api<{ count: number }>('GET', `/deliveries/count?sourceId=${source.id}&status=delivered`)).body.count
    await until('all are delivered', async () => (await count()) === flooded, limitMs)
    await node.api('PATCH', `/destinations/${destinationId}`, {
      settings: {
        sharedSecret: null,
        webhooks: [{ id: settings.webhooks[0]?.id, url: receiver.url, method: 'PATCH' }],
      },
    })

    let inParcels = 0
    for (let n = 0; n < flooded; n += 5) {
      const detail = await read(eventWorkflowId(source.id, `m-${n}`))
      const sent = tries(`m-${n}`)
      if (detail.temporalUiUrl?.includes('parcel') === true) inParcels++
      expect(detail.timeline.map(toldSignatures)).toEqual(sent.map(signaturesOf))
      expect(detail.timeline.map(({ request }) => request?.method)).toEqual(sent.map(() => 'POST'))
      expect(detail.timeline.map(({ excerpt }) => excerpt)).toEqual(sent.map((_, index) => `answer ${index + 1}`))
      for (const { response } of detail.timeline)
        expect(response?.headers).toContainEqual({ name: 'x-message', value: `m-${n}` })
    }
    expect(inParcels).toBeGreaterThan(0)
  })
})
