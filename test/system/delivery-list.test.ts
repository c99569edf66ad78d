/** What lists of deliveries tell, beside what a receiver got. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_RETRY_INITIAL: '1s', POSTRIDER_RETRY_MAX: '1h' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const list = async (query: Record<string, string>): Promise<Delivery[]> =>
  (await node.api<Page<Delivery>>('GET', `/deliveries?${String(new URLSearchParams(query))}`)).body.items

it('has attempts, the last reason and the next attempt of a delivery while it is tried again', async () => {
  await using receiver = await startReceiver()
  receiver.answer((_request, index) => ({ status: index < 2 ? 500 : 503 }))
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Tried', messageId: 'tried' })
  await receiver.received(4)
  const row = await until('the list has the fourth attempt', async () => {
    const [delivery] = await list({ messageId: 'tried' })
    return delivery?.attempts === receiver.requests.length && delivery.nextAttemptAt !== null && delivery
  })
  expect(row).toMatchObject({ status: 'retrying', reason: expect.stringMatching(/503/) as unknown })
  expect(Date.parse(row.nextAttemptAt ?? '')).toBeGreaterThan(receiver.requests.at(-1)?.arrivedAt.getTime() ?? 0)
})

it('has the last reason however much endpoints answered', async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503, body: 'busy '.repeat(200) })
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Tried', messageId: 'much' })
  await receiver.received(4)
  const row = await until('the list has the fourth attempt', async () => {
    const [delivery] = await list({ messageId: 'much' })
    return (delivery?.attempts ?? 0) >= 4 && delivery
  })
  expect(row).toMatchObject({ status: 'retrying', reason: 'The endpoint answered 503 Service Unavailable.' })
})

it('has the attempts of a delivery that was cancelled, or terminated in Temporal, and why the last one failed', async () => {
  const ends = {
    cancelled: (id: string) => node.api('POST', `/deliveries/${encodeURIComponent(id)}/cancel`),
    terminated: (id: string) => {
      const { client, names } = node.app.temporal
      return client.workflow.getHandle(names.workflowId(id)).terminate()
    },
  }
  for (const [messageId, end] of Object.entries(ends)) {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Tried', messageId })
    await receiver.received(3)
    await until('the list has it', async () => (await list({ messageId, status: 'retrying' })).length === 1)
    await end(`event/${source.id}/${messageId}`)
    const row = await until(`it is ${messageId}`, async () => {
      const [delivery] = await list({ messageId, status: 'cancelled' })
      return typeof delivery?.attempts === 'number' && delivery
    })
    expect(row).toMatchObject({ attempts: receiver.requests.length, nextAttemptAt: null })
    expect(row.reason).toMatch(/503/)
  }
})

it('is narrowed to the name of an event, also of those that share a workflow', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const names = ['Opened', "Closed it's", 'Opened', 'Paid']
  const batch = Array.from({ length: 80 }, (_, index) => ({
    type: 'track',
    userId: 'u1',
    event: names[index % names.length],
    messageId: `named-${index}`,
  }))
  await node.post('/batch', source.writeKey, { batch })
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Paid', messageId: 'named-alone' })
  await until('all have arrived', () => new Set(receiver.requests.map(messageIdOf)).size === 81)
  for (const event of new Set(names)) {
    const got = new Set(receiver.requests.filter((request) => bodyOf(request).event === event).map(messageIdOf))
    const rows = await until(`the list has all ${event}`, async () => {
      const items = await list({ event, sourceId: source.id, limit: '200' })
      return items.length >= got.size && items
    })
    expect(rows.map(({ messageId }) => messageId).toSorted()).toEqual([...got].toSorted())
    const { body } = await node.api<{ count: number }>(
      'GET',
      `/deliveries/count?${String(new URLSearchParams({ event, sourceId: source.id }))}`,
    )
    expect(body.count).toBe(got.size)
  }
  expect(await list({ event: 'Op', sourceId: source.id })).toEqual([])
})

it.each([
  ['that travel alone', 3],
  ['that share a workflow', 90],
])(
  'tells the names of events %s, and finds long ones by their full name',
  async (_, count) => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const start = `It's ${'long '.repeat(60)}`
    const calls = [
      { type: 'track', event: `${start}one` },
      { type: 'track', event: `${start}two` },
      { type: 'page', name: 'Front page' },
    ]
    const batch = Array.from({ length: count }, (_, index) => ({
      ...calls[index % calls.length],
      userId: 'u1',
      messageId: `name-${count}-${index}`,
    }))
    const namesOf = async (query: Record<string, string>) =>
      (await list({ sourceId: source.id, limit: '200', ...query })).map(({ event }) => event)
    const expectNames = async (): Promise<void> => {
      for (const { event: full, name } of calls) {
        const shown = full === undefined ? name : `${full.slice(0, 254)}…`
        const names = await until(`all are found by ${String(full ?? name)}`, async () => {
          const found = await namesOf({ event: full ?? name ?? '' })
          return found.length === count / calls.length && found
        })
        expect(new Set(names)).toEqual(new Set([shown]))
      }
      const ofOne = await list({ sourceId: source.id, event: calls[0]?.event ?? '', limit: '1' })
      const { body } = await node.api<Delivery>('GET', `/deliveries/${encodeURIComponent(ofOne[0]?.id ?? '')}`)
      expect(body.event).toBe(calls[0]?.event)
      expect(await namesOf({ event: start })).toEqual([])
    }
    await node.api('PATCH', `/destinations/${destination.id}`, { paused: true })
    await (count === calls.length
      ? Promise.all(batch.map((call) => node.post(`/${'event' in call ? 'track' : 'page'}`, source.writeKey, call)))
      : node.post('/batch', source.writeKey, { batch }))
    await expectNames()
    await node.api('PATCH', `/destinations/${destination.id}`, { paused: false })
    await until('all have arrived', () => new Set(receiver.requests.map(messageIdOf)).size === count, 60_000)
    await expectNames()
  },
  120_000,
)

it.each([
  ['that travel alone', 3],
  ['that share a workflow', 90],
])(
  'tells the ids of events %s, and finds long ones by their full text',
  async (_, count) => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const start = 'user '.repeat(60)
    const users = [`${start}one`, `${start}two`, 'short']
    // Quotes take three characters each in Temporal's lists, so that this id is too long for them.
    const idOf = (index: number): string => `${count}-${index}-${"'".repeat(90)}`
    const batch = Array.from({ length: count }, (_, index) => ({
      type: 'track',
      event: 'Opened',
      userId: users[index % users.length],
      messageId: idOf(index),
    }))
    const expectIds = async (): Promise<void> => {
      for (const userId of users) {
        const sent = batch.filter((call) => call.userId === userId)
        const rows = await until(`all are found by ${userId}`, async () => {
          const found = await list({ sourceId: source.id, limit: '200', userId })
          return found.length === sent.length && found
        })
        const shown = userId.length > 255 ? `${userId.slice(0, 254)}…` : userId
        expect(new Set(rows.map((row) => row.userId))).toEqual(new Set([shown]))
        expect(rows.map(({ messageId }) => messageId).toSorted()).toEqual(
          sent.map(({ messageId }) => messageId).toSorted(),
        )
      }
      // What has just left the inbox may be missing from Temporal's lists for a moment.
      const first = await until('the first is found by its id', async () => {
        const [row] = await list({ sourceId: source.id, messageId: idOf(0) })
        return row
      })
      expect(first).toMatchObject({ messageId: idOf(0), userId: `${users[0]?.slice(0, 254)}…` })
      const { body } = await node.api<Delivery>('GET', `/deliveries/${encodeURIComponent(first.id)}`)
      expect(body).toMatchObject({ messageId: idOf(0), userId: users[0] })
      expect(await list({ sourceId: source.id, userId: start })).toEqual([])
    }
    await node.api('PATCH', `/destinations/${destination.id}`, { paused: true })
    await (count === users.length
      ? Promise.all(batch.map((call) => node.post('/track', source.writeKey, call)))
      : node.post('/batch', source.writeKey, { batch }))
    await expectIds()
    await node.api('PATCH', `/destinations/${destination.id}`, { paused: false })
    await until('all have arrived', () => new Set(receiver.requests.map(messageIdOf)).size === count, 60_000)
    await expectIds()
  },
  120_000,
)

const bodyOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString()) as { messageId: string; event: string }
const messageIdOf = (request: { body: Buffer }): string => bodyOf(request).messageId

it('has what is under way first, and then what ended latest', async () => {
  await using receiver = await startReceiver()
  receiver.answer((_request, index) => ({ status: index < 3 ? 200 : 503 }))
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const shown = async (): Promise<string[]> =>
    (await list({ sourceId: source.id })).map(({ messageId, status }) => `${messageId} ${status}`)
  const send = async (messageId: string, status: string): Promise<void> => {
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'E', messageId })
    await until(`${messageId} is ${status}`, async () => (await shown()).includes(`${messageId} ${status}`))
  }
  for (const messageId of ['first', 'second', 'third']) await send(messageId, 'delivered')
  await send('open', 'retrying')
  expect(await shown()).toEqual(['open retrying', 'third delivered', 'second delivered', 'first delivered'])
})
