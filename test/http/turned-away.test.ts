import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { LiveEvent } from '../../src/schemas/live-event.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { TurnedAwayDetail, TurnedAwayEvent } from '../../src/schemas/turned-away.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

describe('events that became no delivery', () => {
  let node: TestApp
  let receiver: Receiver
  let connected: Source
  let lonely: Source
  beforeAll(async () => {
    node = await startTestApp()
    receiver = await startReceiver()
    connected = await node.createSource('Connected')
    lonely = await node.createSource('Lonely')
    await node.connect([connected], [receiver.url])
  })
  afterAll(async () => {
    await node[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
  })

  const list = async (query: Record<string, string>): Promise<TurnedAwayEvent[]> =>
    (await node.api<Page<TurnedAwayEvent>>('GET', `/turned-away?${String(new URLSearchParams(query))}`)).body.items

  /** The event that came with a message id, once it is there. */
  const found = async (messageId: string): Promise<TurnedAwayDetail> => {
    const [event] = await until(`an event ${messageId}`, async () => {
      const items = await list({ messageId })
      return items.length > 0 && items
    })
    return (await node.api<TurnedAwayDetail>('GET', `/turned-away/${event?.id}`)).body
  }
  const bodyOf = ({ body }: TurnedAwayDetail): unknown => JSON.parse(body ?? '')

  it('are looked at with body and reason: refused calls and items of batches', async () => {
    const call = { userId: 'u1', messageId: 'refused-call', properties: { total: 5 } }
    const { body: answer } = await node.post('/track', connected.writeKey, call)
    const event = await found('refused-call')
    expect(event).toMatchObject({
      sourceId: connected.id,
      fate: 'rejected',
      reason: 'event_not_defined',
      message: answer['message'],
      type: 'track',
      userId: 'u1',
    })
    expect(bodyOf(event)).toEqual(call)

    const good = { type: 'track', userId: 'u1', event: 'Good', messageId: 'good-item' }
    const bad = { type: 'track', messageId: 'bad-item', event: 'No user', writeKey: 'nobody-reads-it' }
    await node.post('/batch', connected.writeKey, { batch: [good, bad] })
    const item = await found('bad-item')
    expect(item).toMatchObject({
      fate: 'rejected',
      reason: 'id_required',
      message: expect.stringMatching(/batch\[1\]/) as unknown,
    })
    expect(bodyOf(item)).toEqual({ type: 'track', messageId: 'bad-item', event: 'No user' })
    expect(await list({ messageId: 'good-item' })).toEqual([])
    await receiver.received(1)
  })

  it('are looked at with the body that nobody got: filtered ones, and those without a destination', async () => {
    const event = { userId: 'u1', event: 'Seen', properties: { page: 3 } }
    await node.post('/track', connected.writeKey, { ...event, messageId: 'filtered', integrations: { All: false } })
    await node.post('/track', lonely.writeKey, { ...event, messageId: 'lonely' })
    expect(await found('filtered')).toMatchObject({ fate: 'filtered', reason: null, sourceId: connected.id })
    const nowhere = await found('lonely')
    expect(nowhere).toMatchObject({ fate: 'no_destination', event: 'Seen', sourceId: lonely.id })
    expect(bodyOf(nowhere)).toMatchObject({ type: 'track', ...event, messageId: 'lonely' })
    expect((await list({ sourceId: lonely.id })).map(({ messageId }) => messageId)).toEqual(['lonely'])
    expect((await list({ fate: 'filtered' })).map(({ messageId }) => messageId)).toEqual(['filtered'])
    expect(await list({ until: '2026-01-01T00:00:00Z' })).toEqual([])
  })

  it('say of a user who asked to be forgotten only that there was an event, and earlier ones are removed', async () => {
    const call = { userId: 'forgotten', event: 'Seen', properties: { secret: 'diary' } }
    await node.post('/track', lonely.writeKey, { ...call, messageId: 'before' })
    await found('before')
    await node.api('POST', '/deletion-requests', { userIds: ['forgotten'], suppress: true })
    expect(await list({ messageId: 'before' })).toEqual([])
    await node.post('/track', lonely.writeKey, { ...call, messageId: 'after' })
    const event = await found('after')
    expect(event).toMatchObject({ fate: 'suppressed', userId: null, event: 'Seen' })
    expect(JSON.stringify(event)).not.toMatch(/forgotten|diary/)
  })

  it('are found by ids of which only the beginning is kept', async () => {
    const [userId, messageId] = ['user '.repeat(80), 'message '.repeat(50)]
    await node.post('/track', connected.writeKey, { userId, messageId, event: 'Long' })
    const event = await found(messageId)
    expect(event).toMatchObject({ reason: 'id_too_long', userId: userId.slice(0, 255) })
    expect((await list({ userId })).map(({ id }) => id)).toEqual([event.id])
  })

  it('lead from the live stream to their body', async () => {
    const live = await fetch(`${node.url}/api/v1/sources/${lonely.id}/live`, {
      headers: { authorization: `Bearer ${adminToken}` },
    })
    const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader()
    await reader?.read()
    await node.post('/track', lonely.writeKey, { userId: 'u1', event: 'Watched', messageId: 'watched' })
    const { value } = (await reader?.read()) ?? {}
    await reader?.cancel()
    const shown = JSON.parse((value ?? '').replace(/^data: /, '')) as LiveEvent
    expect((await found('watched')).id).toBe(shown.turnedAwayId)
  })
})
