/** Mappings of destinations on a whole node: what arrives, in each attempt, and what becomes of what cannot be mapped. */

import { createHmac, hash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { EndpointTest } from '../../src/schemas/endpoint-test.ts'
import type { Mapping } from '../../src/schemas/mapping.ts'
import type { Rehearsal } from '../../src/schemas/rehearsal.ts'
import { createAudience, uploadAndSync } from '../audiences/setup.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 240_000
const limitMs = 120_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const bodyOf = ({ body }: ReceivedRequest): Record<string, unknown> => JSON.parse(body.toString()) as never
const change = (id: string, mapping: Mapping | null, on: Pick<TestApp, 'api'> = node) =>
  on.api('PATCH', `/destinations/${id}`, { mapping })
const track = (messageId: string, properties: object = {}) => ({
  type: 'track',
  userId: 'u1',
  event: 'Order',
  messageId,
  properties,
})

const listed = (messageId: string, status: string, on: Pick<TestApp, 'api'> = node): Promise<Delivery> =>
  until(
    `${messageId} is ${status}`,
    async () => {
      const { body } = await on.api<Page<Delivery>>('GET', `/deliveries?messageId=${messageId}&status=${status}`)
      return body.items[0]
    },
    limitMs,
  )
const read = async ({ id }: Delivery): Promise<DeliveryDetail> =>
  (await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)).body

/** The different bodies that came for each message, whose id stands in a header. */
function bodiesById({ requests }: Receiver): Map<unknown, Set<string>> {
  const bodies = new Map<unknown, Set<string>>()
  for (const { headers, body } of requests) {
    const id = headers['webhook-id']
    bodies.set(id, (bodies.get(id) ?? new Set()).add(body.toString()))
  }
  return bodies
}

it('gives each destination the event as its mapping makes it, signed so', async () => {
  await using plain = await startReceiver()
  await using mapped = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [plain.url])
  const mapping: Mapping = { keep: ['type', 'userId', 'properties'], hash: ['userId'], set: { origin: 'shop' } }
  await node.connect([source], [mapped.url], { mapping, sharedSecret: 's3cret' })
  await node.post('/track', source.writeKey, track('mapped-once', { total: 5 }))
  const [whole, request] = [...(await plain.received(1)), ...(await mapped.received(1))]
  expect(whole && bodyOf(whole)).toMatchObject({ userId: 'u1', event: 'Order', messageId: 'mapped-once' })
  const body = JSON.stringify({ type: 'track', userId: hash('sha256', 'u1'), properties: { total: 5 }, origin: 'shop' })
  expect(request?.body.toString()).toBe(body)
  expect(request?.headers).toMatchObject({
    'webhook-id': 'mapped-once',
    'x-signature': createHmac('sha1', 's3cret').update(body).digest('hex'),
  })

  const detail = await read(await listed('mapped-once', 'delivered'))
  expect(detail.message).toMatchObject({ event: 'Order' })
  expect(detail.requests.map((one) => one.body)).toEqual([detail.body, body])
  expect(detail.requests[1]?.headers['X-Signature']).toBe(request?.headers['x-signature'])
})

it('goes on with the mapping of an event until it is delivered, and takes the one of now to deliver it again', async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  const { id } = await node.connect([source], [receiver.url], { mapping: { set: { version: 'first' } } })
  await node.post('/track', source.writeKey, track('on-its-way'))
  await receiver.received(1)
  await change(id, { set: { version: 'second' } })
  await receiver.received(3)
  receiver.answer({})
  const delivery = await listed('on-its-way', 'delivered')
  const sent = receiver.requests.length
  expect(new Set(receiver.requests.map(({ body }) => body.toString())).size).toBe(1)
  expect(receiver.requests.map((request) => bodyOf(request)['version'])).toContain('first')
  await node.api('POST', `/deliveries/${encodeURIComponent(delivery.id)}/redeliver`)
  const again = await receiver.received(sent + 1)
  expect(again.map((request) => bodyOf(request)['version']).at(-1)).toBe('second')
})

it('keeps the bytes of what travels in parcels, also while the mapping changes', { timeout }, async () => {
  await using receiver = await startReceiver()
  const tried = new Set<unknown>()
  // Every third event fails at first.
  receiver.answer(({ headers }, index) => {
    const id = headers['webhook-id']
    if (tried.has(id) || index % 3 !== 0) return {}
    tried.add(id)
    return { status: 503 }
  })
  const source = await node.createSource()
  const mapping: Mapping = { drop: ['messageId', 'context'], set: { version: 'first' } }
  const { id } = await node.connect([source], [receiver.url], { mapping, sharedSecret: 'x' })
  const ids = Array.from({ length: 400 }, (_, n) => `parcelled-${n}`)
  await node.post('/batch', source.writeKey, { batch: ids.map((one) => track(one, { one })) })
  await receiver.received(1)
  await change(id, { set: { version: 'second' } })
  await until(
    'all are delivered',
    async () => {
      const { body } = await node.api<{ count: number }>(
        'GET',
        `/deliveries/count?sourceId=${source.id}&status=delivered`,
      )
      return body.count === ids.length
    },
    limitMs,
  )
  const bodies = bodiesById(receiver)
  expect([...bodies.keys()].toSorted()).toEqual(ids.toSorted())
  for (const [one, different] of bodies) {
    expect(different.size).toBe(1)
    const body = JSON.parse([...different][0] ?? '') as Record<string, unknown>
    expect(body).toMatchObject({ version: 'first', properties: { one } })
    expect(body).not.toHaveProperty('messageId')
  }
  expect(tried.size).toBeGreaterThan(50)
  const { count } = await node.app.temporal.client.workflow.count(`WorkflowType = 'deliverParcel'`)
  expect(count).toBeGreaterThan(0)
})

it('finds the mapping of an event that was held, after the node and the mapping are others', { timeout }, async () => {
  await using receiver = await startReceiver()
  const [namespace, dataDir] = [await createNamespace(), await makeDataFolder()]
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const hold = async (): Promise<string> => {
    await using first = await startTestApp({ namespace, dataDir })
    const source = await first.createSource()
    const { id } = await first.connect([source], [receiver.url], { mapping: { set: { version: 'first' } } })
    await first.api('PATCH', `/destinations/${id}`, { paused: true })
    await first.post('/track', source.writeKey, track('held'))
    await listed('held', 'held', first)
    await change(id, { set: { version: 'second' } }, first)
    return id
  }
  const destinationId = await hold()
  await using second = await startTestApp({ namespace, dataDir })
  await second.api('PATCH', `/destinations/${destinationId}`, { paused: false })
  const [request] = await receiver.received(1)
  expect(request && bodyOf(request)).toMatchObject({ version: 'first' })
})

describe('an expression', () => {
  it('makes what is sent, the same in every attempt, and fails an event by itself', { timeout }, async () => {
    await using receiver = await startReceiver()
    receiver.answer((_, index) => ({ status: index % 3 === 0 && index < 100 ? 503 : 200 }))
    const source = await node.createSource()
    const expression = `{ 'who': userId, 'double': $number(properties.n) * 2 }`
    const mapping = { hash: ['userId'], expression }
    const { id } = await node.connect([source], [receiver.url], { mapping, sharedSecret: 'x' })
    const ids = Array.from({ length: 200 }, (_, n) => `evaluated-${n}`)
    const batch = ids.map((messageId, n) => track(messageId, { n: n === 13 ? 'secret' : n }))
    await node.post('/batch', source.writeKey, { batch })
    const failed = await listed('evaluated-13', 'failed')
    expect(failed.reason).toContain('The mapping could not be applied: expression: D3030 at character')
    expect(failed.reason).not.toContain('secret')
    const metrics = await (await fetch(`${node.url}/metrics`)).text()
    expect(metrics).toContain(`postrider_mapping_failures_total{destination_id="${id}"} 1`)
    const delivered = `/deliveries/count?sourceId=${source.id}&status=delivered`
    await until(
      'all others are delivered',
      async () => (await node.api<{ count: number }>('GET', delivered)).body.count === ids.length - 1,
      limitMs,
    )
    const bodies = bodiesById(receiver)
    expect(bodies.size).toBe(ids.length - 1)
    for (const [messageId, different] of bodies) {
      const n = Number(String(messageId).replace('evaluated-', ''))
      expect([...different]).toEqual([JSON.stringify({ who: hash('sha256', 'u1'), double: 2 * n })])
    }
  })

  it('is tried on recorded events, and refused where it is none', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const { id } = await node.connect([source], [receiver.url])
    await node.post('/track', source.writeKey, track('tried-out', { n: 1 }))
    await receiver.received(1)
    const rehearse = (expression: string) =>
      node.api<Rehearsal & { path: string }>('POST', `/destinations/${id}/rehearse`, { mapping: { expression } })
    const tried = await until('the event', async () => {
      const { body } = await rehearse(`{ 'n': properties.n + 1 }`)
      return body.tried === 1 && body
    })
    expect(tried.items[0]).toMatchObject({ outcome: 'changed', after: { n: 2 } })
    for (const expression of ['{', '$now()', '$eval("1")', 'x'.repeat(8_193)]) {
      expect(await rehearse(expression)).toMatchObject({ status: 400, body: { path: 'mapping.expression' } })
      const changed = await change(id, { expression })
      expect(changed).toMatchObject({ status: 400, body: { path: 'mapping.expression' } })
    }
  })
})

describe('an event to which the mapping cannot be applied', () => {
  const reason = 'The mapping could not be applied: hash of properties.email: the value is neither a text nor a number.'

  it('fails with the reason, is not sent, and is delivered again when the mapping is mended', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const mapping: Mapping = { hash: ['properties.email'] }
    const { id } = await node.connect([source], [receiver.url], { mapping })
    await node.post('/track', source.writeKey, track('does-not-fit', { email: { secret: 'value' } }))
    const failed = await listed('does-not-fit', 'failed')
    expect(failed).toMatchObject({ reason: expect.stringContaining(reason) as string, attempts: 0 })
    expect((await read(failed)).requests).toMatchObject([{ body: null, headers: {} }])
    await node.post('/track', source.writeKey, track('fits', { email: 'a@b.c' }))
    await receiver.received(1)

    await change(id, { drop: ['properties.email'] })
    await node.api('POST', `/deliveries/${encodeURIComponent(failed.id)}/redeliver`)
    const [, again] = await receiver.received(2)
    expect(again && bodyOf(again)).toMatchObject({ messageId: 'does-not-fit', properties: {} })
  })

  it('fails alone in its parcel', { timeout }, async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url], { mapping: { hash: ['properties.email'] } })
    const batch = Array.from({ length: 300 }, (_, n) => track(`of-many-${n}`, { email: n === 150 ? {} : `${n}@b.c` }))
    await node.post('/batch', source.writeKey, { batch })
    expect((await listed('of-many-150', 'failed')).reason).toContain(reason)
    await until('all others have arrived', () => receiver.requests.length >= 299, limitMs)
    expect(receiver.requests.map((request) => bodyOf(request)['messageId'])).not.toContain('of-many-150')
  })
})

it('shapes the calls of audiences, also those that are tried again', { timeout }, async () => {
  await using receiver = await startReceiver()
  receiver.answerInTurn({ status: 503 }, {})
  const mapping: Mapping = { hash: ['userId'], drop: ['context'] }
  const { id } = await node.connect([], [receiver.url], { mapping })
  const audience = await createAudience(node, [id])
  await uploadAndSync(node, audience, ['u1'])
  await change(id, { set: { version: 'second' } })
  await until('it is tried again', () => receiver.requests.length >= 2)
  const [first, second] = receiver.requests
  expect(first && bodyOf(first)).toMatchObject({ type: 'identify', userId: hash('sha256', 'u1') })
  expect(first && bodyOf(first)).not.toHaveProperty('context')
  expect(second?.body).toEqual(first?.body)
})

it('does not reach a sync whose calls it does not fit: they fail, and are counted', { timeout }, async () => {
  await using receiver = await startReceiver()
  const { id } = await node.connect([], [receiver.url], { mapping: { hash: ['traits'] } })
  const audience = await createAudience(node, [id], { name: 'Not mapped' })
  const sync = await uploadAndSync(node, audience, ['u1'])
  expect(sync).toMatchObject({ failed: 1, sent: 0 })
  expect(receiver.requests).toEqual([])
})

it('leaves a deletion its user, under the id that the receiver has', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  const mapping: Mapping = { keep: ['event'], hash: ['userId'], set: { type: 'other' } }
  await node.connect([source], [receiver.url], { mapping })
  await node.api('POST', '/deletion-requests', { userIds: ['u-gone'], sourceIds: [source.id] })
  const [request] = await receiver.received(1)
  expect(request && bodyOf(request)).toMatchObject({ type: 'delete', userId: hash('sha256', 'u-gone') })
})

it('is applied to the sample of a test', async () => {
  await using receiver = await startReceiver()
  const { id } = await node.connect([], [receiver.url], { mapping: { keep: ['type'] } })
  const { body } = await node.api<EndpointTest>('POST', `/destinations/${id}/test`, {})
  expect(body.results[0]?.request.body).toBe('{"type":"track"}')
  expect(receiver.requests[0]?.body.toString()).toBe('{"type":"track"}')
  await change(id, { hash: ['context'] })
  const refused = await node.api<{ message: string }>('POST', `/destinations/${id}/test`, {})
  expect(refused).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('hash of context') as string },
  })
})

describe('a draft', () => {
  const rehearse = (id: string, body: unknown) =>
    node.api<Rehearsal & { path: string }>('POST', `/destinations/${id}/rehearse`, body)

  it('is tried on the newest events, before and after, and sends nothing', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const { id } = await node.connect([source], [receiver.url], { mapping: { drop: ['context'] } })
    const batch = [
      track('text', { a: 'x' }),
      track('object', { a: {} }),
      track('none'),
      { ...track('page'), type: 'page' },
    ]
    await node.post('/batch', source.writeKey, { batch })
    await receiver.received(4)
    const filter = { types: ['track'] }
    const tried = await until('the four events', async () => {
      const { body } = await rehearse(id, { filter, mapping: { hash: ['properties.a'] } })
      return body.tried === 4 && body
    })
    expect(tried).toMatchObject({ sent: 2, changed: 1, dropped: 1, failed: 1 })
    const outcomes = Object.fromEntries(tried.items.map((item) => [item.messageId, item]))
    expect(outcomes['text']).toMatchObject({
      outcome: 'changed',
      before: { properties: { a: 'x' } },
      after: { properties: { a: hash('sha256', 'x') }, context: {} },
    })
    expect(outcomes['object']).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('hash of properties.a') as string,
      after: null,
    })
    expect(outcomes['none']).toMatchObject({ outcome: 'sent' })
    expect(outcomes['page']).toMatchObject({ outcome: 'dropped', after: null })
    expect((await rehearse(id, { limit: 1 })).body).toMatchObject({ tried: 1, sent: 1, changed: 1 })
    expect((await rehearse(id, { mapping: null })).body).toMatchObject({ sent: 4, changed: 0 })
    expect((await rehearse(id, { mapping: { drop: [] } })).body.path).toBe('mapping.drop')
    expect(receiver.requests).toHaveLength(4)
  })
})

describe('the management API', () => {
  it('keeps a mapping as it was given, changes it as a whole, and removes it', async () => {
    const mapping: Mapping = {
      keep: ['type', 'userId'],
      drop: ['a\\.b'],
      hash: ['userId'],
      rename: { z: 'b', a: 'c' },
      set: { x: null, 'y.0': 'text', z: 1, w: false },
    }
    const { id, ...made } = await node.connect([], [], { mapping })
    expect(JSON.stringify(made.mapping)).toBe(JSON.stringify(mapping))
    const { body: renamed } = await node.api<Destination>('PATCH', `/destinations/${id}`, { name: 'Other' })
    expect(renamed.mapping).toEqual(mapping)
    expect((await change(id, { drop: ['a'] })).body).toMatchObject({ mapping: { drop: ['a'] } })
    expect((await change(id, mapping)).body).toMatchObject({ mapping })
    expect((await change(id, null)).body).toMatchObject({ mapping: null })
    expect((await node.connect([], [])).mapping).toBeNull()
  })

  it.each([
    [{ drop: ['a', ''] }, 'mapping.drop[1]'],
    [{ keep: [] }, 'mapping.keep'],
    [{ hash: Array.from({ length: 101 }, (_, n) => `p${n}`) }, 'mapping.hash'],
    [{ rename: { a: 'c', b: 'c' } }, 'mapping.rename.b'],
    [{ set: { a: {} } }, 'mapping.set.a'],
    [{ set: { a: 'x'.repeat(1_025) } }, 'mapping.set.a'],
    [{ rename: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`a${n}`, `b${n}`])) }, 'mapping.rename'],
    [{ move: {} }, 'mapping.move'],
  ])('names the member of %j that is wrong', async (mapping, path) => {
    const { id } = await node.connect([], [])
    const { status, body } = await node.api<{ path: string; message: string }>('PATCH', `/destinations/${id}`, {
      mapping,
    })
    expect({ status, path: body.path }).toEqual({ status: 400, path })
    expect(body.message).toMatch(/must|is not a known member|goes, too/)
  })
})
