import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { DeletionRequest, DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limitMs = 90_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const request = async (body: object): Promise<DeletionRequestDetail> => {
  const answer = await node.api<DeletionRequestDetail>('POST', '/deletion-requests', body)
  expect(answer).toMatchObject({ status: 202 })
  return answer.body
}

const read = async (id: string): Promise<DeletionRequestDetail> =>
  (await node.api<DeletionRequestDetail>('GET', `/deletion-requests/${id}`)).body

const untilDelivered = (id: string): Promise<DeletionRequestDetail> =>
  until(
    `all notifications of ${id} are delivered`,
    async () => {
      const progress = await read(id)
      return progress.status === 'completed' && progress.delivered === progress.notifications && progress
    },
    limitMs,
  )

const bodiesOf = ({ requests }: Receiver): Record<string, unknown>[] =>
  requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)

const deletesOf = (receiver: Receiver): unknown[] => bodiesOf(receiver).filter(({ type }) => type === 'delete')

describe('a deletion request', () => {
  it('tells every source with a destination that is on, once per user, with exactly three members', async () => {
    await using receiver = await startReceiver()
    await using other = await startReceiver()
    const [first, second, off, unconnected] = await Promise.all([1, 2, 3, 4].map(() => node.createSource()))
    if (!first || !second || !off || !unconnected) throw new Error('no sources')
    await node.connect([first], [receiver.url])
    await node.connect([second], [other.url])
    await node.connect([off], [receiver.url], { enabled: false })
    const odd = `it's a "long" one/${'x'.repeat(300)}`
    const made = await request({
      userIds: ['u1', 'u2', 'u1', odd],
      sourceIds: [first, second, off, unconnected].map(({ id }) => id),
    })
    expect(made).toMatchObject({ users: 3, notifications: 6, sourceIds: [first.id, second.id], suppress: false })
    const done = await untilDelivered(made.id)
    expect(done).toMatchObject({ started: 6, skipped: 0, delivered: 6, failed: 0 })
    for (const each of [receiver, other]) {
      const bodies = bodiesOf(each).sort((a, b) => String(a['userId']).localeCompare(String(b['userId'])))
      expect(bodies).toEqual([odd, 'u1', 'u2'].map((userId) => ({ type: 'delete', userId, timestamp: made.createdAt })))
      expect(each.requests.map(({ body }) => Object.keys(JSON.parse(body.toString()) as object))).toEqual(
        Array.from({ length: 3 }, () => ['type', 'userId', 'timestamp']),
      )
    }
    const { body: log } = await node.api<Page<Delivery>>('GET', `/deliveries?type=delete&userId=u1`)
    expect(log.items.map(({ id }) => id).sort()).toEqual(
      [first.id, second.id].map((id) => `delete/${made.id}/${id}/u1`).sort(),
    )
    const [delivery] = log.items
    expect(delivery?.messageId.length).toBeLessThanOrEqual(100)
    const { status } = await node.api('GET', `/deliveries/${encodeURIComponent(delivery?.id ?? '')}`)
    expect(status).toBe(200)
  })

  it('goes to all sources unless some are named, and is listed', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const made = await request({ userIds: ['u-all'] })
    expect(made.sourceIds).toContain(source.id)
    await until('the notification arrives', () => deletesOf(receiver).length > 0, limitMs)
    const { body } = await node.api<Page<DeletionRequest>>('GET', '/deletion-requests')
    expect(body.items.map(({ id }) => id)).toContain(made.id)
  })

  it('calls off waiting deliveries of these users and no others', async () => {
    await using receiver = await startReceiver()
    receiver.answer(({ body }) => ({ status: body.includes('"delete"') ? 200 : 503 }))
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    for (const userId of ['gone', 'stays'])
      await node.post('/track', source.writeKey, { userId, event: 'Waiting', messageId: `of-${userId}` })
    const statusOf = async (userId: string): Promise<string | undefined> => {
      const query = `/deliveries?sourceId=${source.id}&type=track&userId=${userId}`
      return (await node.api<Page<Delivery>>('GET', query)).body.items[0]?.status
    }
    await until('both wait', async () => {
      const statuses = [await statusOf('gone'), await statusOf('stays')]
      return statuses.every((status) => status === 'retrying')
    })
    const made = await request({ userIds: ['gone'], sourceIds: [source.id] })
    await until('the delivery is called off', async () => (await statusOf('gone')) === 'cancelled', limitMs)
    expect(await statusOf('stays')).toBe('retrying')
    expect((await untilDelivered(made.id)).cancelled).toBe(1)
    expect(deletesOf(receiver)).toEqual([{ type: 'delete', userId: 'gone', timestamp: made.createdAt }])
  })

  it('drops later events of these users at the door when it says so, and counts them', async () => {
    await using receiver = await startReceiver()
    const [source, other] = [await node.createSource(), await node.createSource()]
    await node.connect([source, other], [receiver.url])
    await request({ userIds: ['silent'], sourceIds: [source.id], suppress: true })
    const track = (writeKey: string, userId: string, event: string) => node.post('/track', writeKey, { userId, event })
    expect((await track(source.writeKey, 'silent', 'Dropped')).status).toBe(200)
    await track(other.writeKey, 'silent', 'Another source')
    await track(source.writeKey, 'loud', 'Another user')
    const arrived = () => bodiesOf(receiver).filter(({ type }) => type === 'track')
    await until('the others arrive', () => arrived().length >= 2)
    expect(
      arrived()
        .map(({ event }) => event)
        .sort(),
    ).toEqual(['Another source', 'Another user'])
    const metrics = await (await fetch(`${node.url}/metrics`)).text()
    expect(metrics).toMatch(/postrider_events_total\{fate="suppressed",reason=""\} 1\n/)
  })

  it.each([
    ['no users', { userIds: [] }, 'userIds'],
    ['too many users', { userIds: Array.from({ length: 5_001 }, (_, n) => `u${n}`) }, 'userIds'],
    ['an id with NUL', { userIds: ['a\0b'] }, 'userIds[0]'],
    ['an id that is no string', { userIds: [1] }, 'userIds[0]'],
    ['an unknown source', { userIds: ['u1'], sourceIds: ['src_unknown'] }, 'sourceIds[0]'],
    ['an unknown member', { userIds: ['u1'], all: true }, undefined],
  ])('is refused with %s', async (_what, body, path) => {
    const answer = await node.api<{ code: string; path?: string }>('POST', '/deletion-requests', body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request', ...(path !== undefined && { path }) } })
  })

  it('is not found under an id that nobody made', async () => {
    expect((await node.api('GET', '/deletion-requests/del_unknown')).status).toBe(404)
  })
})
