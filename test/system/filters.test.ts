/** Filters of destinations on a whole node: what they leave out arrives nowhere, and is found with the reason. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Rehearsal } from '../../src/schemas/rehearsal.ts'
import type { TurnedAwayEvent } from '../../src/schemas/turned-away.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const namesAt = async (receiver: Receiver, count: number): Promise<unknown[]> =>
  (await receiver.received(count)).map(({ body }) => (JSON.parse(body.toString()) as { event: unknown }).event).sort()

const turnedAway = (messageId: string): Promise<TurnedAwayEvent> =>
  until(`an event ${messageId}`, async () => {
    const { body } = await node.api<Page<TurnedAwayEvent>>('GET', `/turned-away?messageId=${messageId}`)
    return body.items[0]
  })

const delivered = (messageId: string, status = 'delivered', count = 1): Promise<Delivery[]> =>
  until(`${count} ${status} of ${messageId}`, async () => {
    const { body } = await node.api<Page<Delivery>>('GET', `/deliveries?messageId=${messageId}&status=${status}`)
    return body.items.length >= count && body.items
  })

const total = (least: number) => ({ match: { path: 'properties.total', op: 'greater' as const, value: least } })

it('gives each destination the events that it takes, of single calls and of batches', async () => {
  await using large = await startReceiver()
  await using rest = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [large.url], { filter: { events: ['Order *'], ...total(100) } })
  await node.connect([source], [rest.url], { filter: { types: ['track'] } })
  const order = (event: string, amount: number) => ({
    type: 'track',
    userId: 'u1',
    event,
    properties: { total: amount },
  })
  await node.post('/track', source.writeKey, order('Order Small', 5))
  await node.post('/batch', source.writeKey, {
    batch: [order('Order Large', 500), order('Cart Large', 500), { type: 'identify', userId: 'u1' }],
  })
  await node.post('/track', source.writeKey, order('Order Last', 900))
  expect(await namesAt(rest, 4)).toEqual(['Cart Large', 'Order Large', 'Order Last', 'Order Small'])
  expect(await namesAt(large, 2)).toEqual(['Order Large', 'Order Last'])
})

it('keeps what no destination takes, with the rules that left it out, and counts it', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  const { id } = await node.connect([source], [receiver.url], { name: 'Large orders', filter: total(100) })
  const send = (messageId: string, value: unknown) =>
    node.post('/track', source.writeKey, { userId: 'u1', event: 'Order', messageId, properties: { total: value } })
  expect((await send('too-small', 5)).status).toBe(200)
  await send('not-a-number', 'much')
  await send('large-enough', 101)
  expect(await turnedAway('too-small')).toMatchObject({
    fate: 'filtered',
    reason: 'filtered_by_rules',
    message: 'Filters left it out: Large orders (properties.total greater 100).',
  })
  expect((await turnedAway('not-a-number')).message).toContain('cannot be said: properties.total greater 100')
  await delivered('large-enough')
  expect(receiver.requests).toHaveLength(1)
  const { body } = await node.api<Page<TurnedAwayEvent>>(
    'GET',
    `/turned-away?sourceId=${source.id}&reason=filtered_by_rules`,
  )
  expect(body.items.map(({ messageId }) => messageId).sort()).toEqual(['not-a-number', 'too-small'])

  const metrics = await (await fetch(`${node.url}/metrics`)).text()
  expect(metrics).toContain(`postrider_filtered_total{destination_id="${id}",by="match"} 1`)
  expect(metrics).toContain(`postrider_filtered_total{destination_id="${id}",by="fault"} 1`)
  expect(metrics).toMatch(/postrider_events_total{fate="filtered",reason="filtered_by_rules"} [2-9]/)
})

it('decides when an event comes in: what is on its way or delivered again is not asked again', async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  const { id } = await node.connect([source], [receiver.url])
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Order', messageId: 'on-its-way' })
  await receiver.received(1)
  await node.api('PATCH', `/destinations/${id}`, { filter: { types: ['page'] } })
  receiver.answer({ status: 200 })
  const [delivery] = await delivered('on-its-way')
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Order', messageId: 'left-out' })
  expect((await turnedAway('left-out')).message).toContain('types: page')
  const before = receiver.requests.length
  await node.api('POST', `/deliveries/${encodeURIComponent(delivery?.id ?? '')}/redeliver`)
  await receiver.received(before + 1)

  await node.api('PATCH', `/destinations/${id}`, { filter: null })
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Order', messageId: 'left-out' })
  await delivered('left-out')
})

describe('a draft', () => {
  const rehearse = (id: string, body: unknown) =>
    node.api<Rehearsal & { path: string }>('POST', `/destinations/${id}/rehearse`, body)

  it('is tried on the newest events, delivered or left out, and sends nothing', async () => {
    await using receiver = await startReceiver()
    await using other = await startReceiver()
    const [source, lonely] = [await node.createSource(), await node.createSource()]
    const { id } = await node.connect([source, lonely], [receiver.url], { enabled: false })
    await node.connect([source], [other.url], { filter: { types: ['track'] } })
    const order = (messageId: string, amount: number) => ({
      type: 'track',
      messageId,
      userId: 'u1',
      event: 'Order',
      properties: { total: amount },
    })
    const identify = { type: 'identify', messageId: 'identified', userId: 'u1', traits: { plan: 'pro' } }
    await node.post('/batch', source.writeKey, { batch: [order('five', 5), order('fifty', 50), identify] })
    await node.post('/track', source.writeKey, order('fifty', 50))
    await node.post('/track', lonely.writeKey, order('nowhere', 500))
    // No filter lets it through.
    await node.post('/track', source.writeKey, { ...order('excluded', 500), integrations: { All: false } })
    await other.received(2)
    await turnedAway('identified')
    await turnedAway('nowhere')
    await turnedAway('excluded')

    const all = await until('the four events', async () => {
      const { body } = await rehearse(id, { filter: null })
      return body.tried === 4 && body
    })
    expect(all).toMatchObject({ sent: 4, dropped: 0 })
    const { body: tried } = await rehearse(id, { filter: total(10) })
    expect(tried).toMatchObject({ tried: 4, sent: 2, dropped: 2 })
    const outcomes = Object.fromEntries(
      tried.items.map(({ messageId, outcome, reason }) => [messageId, [outcome, reason]]),
    )
    expect(outcomes).toEqual({
      five: ['dropped', 'properties.total greater 10'],
      fifty: ['sent', null],
      identified: ['dropped', 'properties.total greater 10'],
      nowhere: ['sent', null],
    })
    expect(tried.items.map(({ at }) => at)).toEqual(
      tried.items
        .map(({ at }) => at)
        .sort()
        .reverse(),
    )
    const left = tried.items.find(({ messageId }) => messageId === 'identified')
    expect(left?.before).toMatchObject({ type: 'identify', traits: { plan: 'pro' } })
    expect(left?.after).toBeNull()

    expect((await rehearse(id, { limit: 1 })).body).toMatchObject({ tried: 1, sent: 1 })
    await node.api('PATCH', `/destinations/${id}`, { filter: { types: ['identify'] } })
    expect((await rehearse(id, {})).body).toMatchObject({ tried: 4, sent: 1, dropped: 3 })
    expect(receiver.requests).toEqual([])
    expect(other.requests).toHaveLength(2)
  })

  it('is refused where it is wrong, and for no destination', async () => {
    const { id } = await node.connect([], [])
    expect((await rehearse(id, {})).body).toEqual({
      ...{ tried: 0, since: null, sent: 0, changed: 0, dropped: 0, failed: 0 },
      items: [],
    })
    const wrong = await rehearse(id, { filter: { match: { path: 'a', op: 'less' } } })
    expect([wrong.status, wrong.body.path]).toEqual([400, 'filter.match.value'])
    expect((await rehearse(id, { limit: 101 })).body.path).toBe('limit')
    expect((await rehearse('dst_none', {})).status).toBe(404)
  })
})

describe('the management API', () => {
  const patch = (id: string, filter: unknown) =>
    node.api<Destination & { code: string; path: string; message: string }>('PATCH', `/destinations/${id}`, { filter })

  it('keeps a filter as it was given, changes it as a whole, and removes it', async () => {
    const filter = {
      types: ['track' as const],
      events: ['Order *'],
      match: {
        all: [
          { path: 'properties.total', op: 'greater' as const, value: 5 },
          { not: { any: [{ path: 'userId', op: 'exists' as const }] } },
        ],
      },
      sample: 0.5,
    }
    const { id, ...made } = await node.connect([], [], { filter })
    expect(made.filter).toEqual(filter)
    expect((await node.api<Destination>('PATCH', `/destinations/${id}`, { name: 'Other' })).body.filter).toEqual(filter)
    expect((await patch(id, { sample: 0.1 })).body.filter).toEqual({ sample: 0.1 })
    expect((await patch(id, null)).body.filter).toBeNull()
    expect((await node.connect([], [])).filter).toBeNull()
  })

  it.each([
    [
      {
        match: {
          any: [
            { path: 'a', op: 'exists' },
            { path: 'a', op: 'like', value: 1 },
          ],
        },
      },
      'filter.match.any[1].op',
    ],
    [{ match: { all: [{ path: 'a', op: 'oneOf', value: 'b' }] } }, 'filter.match.all[0].value'],
    [{ share: 1 }, 'filter.share'],
  ])('names the member of %j that is wrong', async (filter, path) => {
    const { id } = await node.connect([], [])
    const { status, body } = await patch(id, filter)
    expect({ status, path: body.path }).toEqual({ status: 400, path })
    expect(body.message).toMatch(/must|is not a known member/)
  })

  it('refuses rules that are nested without an end, at once', async () => {
    const { id } = await node.connect([], [])
    const levels = 50_000
    const body = `{"filter":{"match":${'{"not":'.repeat(levels)}1${'}'.repeat(levels)}}}`
    const headers = { authorization: 'Bearer test-admin-token', 'content-type': 'application/json' }
    const answer = await fetch(`${node.url}/api/v1/destinations/${id}`, { method: 'PATCH', headers, body })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'bad_request'])
  })

  it('describes filters in OpenAPI with references that lead somewhere', async () => {
    const text = await (await fetch(`${node.url}/openapi.json`)).text()
    const description: unknown = JSON.parse(text)
    const references = new Set([...text.matchAll(/"\$ref":"(#[^"]*)"/g)].map(([, reference = '']) => reference))
    expect(references.size).toBeGreaterThan(0)
    for (const reference of references) {
      const parts = reference.split('/').slice(1)
      const found = parts.reduce<unknown>(
        (at, part) => (at as Record<string, unknown> | undefined)?.[part],
        description,
      )
      expect(found, reference).toBeDefined()
    }
  })
})
