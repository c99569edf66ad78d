/** Symptom: after a deletion request was answered, endpoints still got events and Identify calls of its users.
 *  Cause: users were dropped at the door alone, and there up to 1.5 seconds late on other nodes. What had been accepted
 *  before went on: attempts until they were called off, redeliveries, pages of a sync that were in memory, calls that a
 *  sync had handed on where `sourceIds` were named.
 *  Consequence: a service that had deleted a user at the word of the `delete` notification got the user's data again. */

import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Sync } from '../../src/schemas/audience.ts'
import type { DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import type { BulkSteering, Delivery } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import { createAudience, ended, start, upload, users } from '../audiences/setup.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const limitMs = 60_000

type Node = Pick<TestApp, 'api' | 'post' | 'createSource' | 'connect'>

/** Asks for a deletion. @returns the request, and when it was answered */
async function deleteUsers(node: Pick<TestApp, 'api'>, body: { userIds: string[]; [member: string]: unknown }) {
  const answer = await node.api<DeletionRequestDetail>('POST', '/deletion-requests', body)
  expect(answer).toMatchObject({ status: 202 })
  return { id: answer.body.id, answeredAt: new Date() }
}

const untilRequest = (
  node: Pick<TestApp, 'api'>,
  id: string,
  what: string,
  isSo: (request: DeletionRequestDetail) => boolean,
): Promise<DeletionRequestDetail> =>
  until(
    `the deletion request is ${what}`,
    async () => {
      const { body } = await node.api<DeletionRequestDetail>('GET', `/deletion-requests/${id}`)
      return isSo(body) && body
    },
    limitMs,
  )

const untilCompleted = (node: Pick<TestApp, 'api'>, id: string): Promise<DeletionRequestDetail> =>
  untilRequest(node, id, 'completed', ({ status }) => status === 'completed')

interface Arrived {
  type: string
  userId: string
  messageId?: string
  at: Date
}

const arrived = ({ requests }: Receiver): Arrived[] =>
  requests.map(({ body, arrivedAt }) => ({ ...(JSON.parse(body.toString()) as Arrived), at: arrivedAt }))

/** What came of a user but for the notification, since a moment. */
const cameOf = (receiver: Receiver, userId: string, since = new Date(0)): Arrived[] =>
  arrived(receiver).filter((one) => one.userId === userId && one.type !== 'delete' && one.at > since)

const track = (node: Node, { writeKey }: Source, userId: string, messageId: string) =>
  node.post('/track', writeKey, { userId, event: 'E', messageId })

/** So many events of each user are tried before their endpoint can count as down: together they have a way of their own to Temporal. */
const fewTried = 3

/** A destination whose endpoint is away, and events of `gone` and `stays` that wait for their next attempts there: some of each were
 *  tried, and the others not any more, once the endpoint is found to be down. */
async function givenWaiting(node: Node, receiver: Receiver, count: number): Promise<Source> {
  receiver.answer(({ body }) => ({ status: body.includes('"delete"') ? 200 : 503 }))
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const post = (first: number, end: number) =>
    Promise.all(
      Array.from({ length: Math.max(0, end - first) }, async (_, n) => {
        await track(node, source, 'gone', `gone-${first + n}`)
        await track(node, source, 'stays', `stays-${first + n}`)
      }),
    )
  await post(0, Math.min(count, fewTried))
  const tried = (userId: string): Set<string | undefined> =>
    new Set(arrived(receiver).flatMap((one) => (one.userId === userId ? [one.messageId] : [])))
  for (const userId of ['gone', 'stays'])
    await until('some were tried', () => tried(userId).size >= Math.min(count, fewTried), limitMs)
  await post(fewTried, count)
  return source
}

const untilOthersArrive = async (receiver: Receiver, count: number): Promise<void> => {
  const taken = new Set<string>()
  receiver.answer(({ body }) => {
    const { userId, messageId } = JSON.parse(body.toString()) as Arrived
    if (userId === 'stays') taken.add(String(messageId))
    return {}
  })
  await until('the events of the other user arrive', () => taken.size === count, limitMs)
}

describe('after a deletion request was answered', { timeout: 120_000 }, () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  it('no attempt is made for its suppressed users, and each other waits on', async () => {
    await using receiver = await startReceiver()
    await givenWaiting(node, receiver, 20)
    const { id, answeredAt } = await deleteUsers(node, { userIds: ['gone'], suppress: true })
    await untilCompleted(node, id)
    await untilOthersArrive(receiver, 20)
    expect(cameOf(receiver, 'gone', answeredAt)).toEqual([])
    const deletes = (): Arrived[] => arrived(receiver).filter(({ type }) => type === 'delete')
    await until('the notification arrives', () => deletes().length > 0)
    expect(deletes().map(({ userId }) => userId)).toEqual(['gone'])
  })

  it('what was held for a suppressed user is discarded when it is released, with the reason', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const { id: destinationId } = await node.connect([source], [receiver.url])
    await node.api('PATCH', `/destinations/${destinationId}`, { paused: true })
    for (const userId of ['held', 'stays']) await track(node, source, userId, `of-${userId}`)
    const deliveryOf = async (userId: string): Promise<Delivery | undefined> =>
      (await node.api<Page<Delivery>>('GET', `/deliveries?sourceId=${source.id}&type=track&userId=${userId}`)).body
        .items[0]
    await until('both are held', async () => {
      const statuses = [(await deliveryOf('held'))?.status, (await deliveryOf('stays'))?.status]
      return statuses.every((status) => status === 'held')
    })
    await deleteUsers(node, { userIds: ['held'], suppress: true, sourceIds: [source.id] })
    await node.api('PATCH', `/destinations/${destinationId}`, { paused: false })
    await until('the other one arrives', () => cameOf(receiver, 'stays').length === 1, limitMs)
    const settled = await until(
      'it is over',
      async () => {
        const delivery = await deliveryOf('held')
        return typeof delivery?.endedAt === 'string' && delivery
      },
      limitMs,
    )
    expect(['discarded', 'cancelled']).toContain(settled.status)
    expect(cameOf(receiver, 'held')).toEqual([])
  })

  it('no alias that names a suppressed user as the previous one is sent, be it new or held', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const { id } = await node.connect([source], [receiver.url])
    const alias = (messageId: string) =>
      node.post('/alias', source.writeKey, { messageId, userId: 'new-name', previousId: 'old-name' })
    await node.api('PATCH', `/destinations/${id}`, { paused: true })
    await alias('held')
    await deleteUsers(node, { userIds: ['old-name'], suppress: true, sourceIds: [source.id] })
    await alias('late')
    await node.api('PATCH', `/destinations/${id}`, { paused: false })
    await track(node, source, 'new-name', 'proof')
    const heldId = encodeURIComponent(`event/${source.id}/held`)
    await until(
      'the held one is over',
      async () => (await node.api<Delivery>('GET', `/deliveries/${heldId}`)).body.status === 'discarded',
      limitMs,
    )
    await until('the proof arrives', () => arrived(receiver).some(({ messageId }) => messageId === 'proof'), limitMs)
    expect(arrived(receiver).filter(({ type }) => type === 'alias')).toEqual([])
  })

  it('events of its users are not redelivered, neither one nor in bulk; later ones are', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const idOf = (messageId: string): string => `event/${source.id}/${messageId}`
    const redeliver = (messageId: string) =>
      node.api<{ code?: string; message?: string }>(
        'POST',
        `/deliveries/${encodeURIComponent(idOf(messageId))}/redeliver`,
        {},
      )
    const untilKnown = (count: number) =>
      until('they are over', async () => {
        const query = `/deliveries/count?sourceId=${source.id}&status=delivered`
        return (await node.api<{ count: number }>('GET', query)).body.count === count
      })
    for (const userId of ['deleted', 'suppressed', 'kept']) await track(node, source, userId, `of-${userId}`)
    await receiver.received(3)
    await untilKnown(3)
    const plain = await deleteUsers(node, { userIds: ['deleted'], sourceIds: [source.id] })
    const strict = await deleteUsers(node, { userIds: ['suppressed'], sourceIds: [source.id], suppress: true })
    // 409 until the keys of its users are destroyed, which a quick machine has done by now, and 410 from then on.
    const refused = {
      status: expect.toBeOneOf([409, 410]) as number,
      body: { message: expect.stringContaining('deleted') as string },
    }
    for (const userId of ['deleted', 'suppressed']) expect(await redeliver(`of-${userId}`)).toMatchObject(refused)
    await untilCompleted(node, plain.id)
    await untilCompleted(node, strict.id)

    const bulk = await node.api<BulkSteering>('POST', '/deliveries/redeliver', { sourceId: source.id, type: 'track' })
    const done = await until('the bulk redelivery is over', async () => {
      const { body } = await node.api<BulkSteering>('GET', `/deliveries/bulk/${bulk.body.id}`)
      return body.status === 'completed' && body
    })
    expect(done).toMatchObject({ matched: 3, done: 1, failed: 2 })
    await until('the other one arrives again', () => cameOf(receiver, 'kept').length === 2)
    for (const userId of ['deleted', 'suppressed']) expect(cameOf(receiver, userId)).toHaveLength(1)

    // Who is deleted and not suppressed may come back.
    await track(node, source, 'deleted', 'came-back')
    await until('it arrives', () => cameOf(receiver, 'deleted').length === 2)
    await until('it is over', async () => (await redeliver('came-back')).status === 200)
    await until('it arrives again', () => cameOf(receiver, 'deleted').length === 3)
  })
})

describe('a sync of an audience', { timeout: 120_000 }, () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  const givenAudience = async (receiver: Receiver) => {
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    return { source, audience: await createAudience(node, [destination.id], { maxRemovalShare: 1 }) }
  }

  it('does not send what it had read before its users were deleted', async () => {
    await using receiver = await startReceiver()
    // One page of changes, read at once and sent for some seconds.
    receiver.answer(({ body }) => ({ delayMs: body.includes('"delete"') ? 0 : 150 }))
    const { source, audience } = await givenAudience(receiver)
    const syncId = await upload(node, audience, users(1_500))
    await receiver.received(64)
    const { id } = await deleteUsers(node, { userIds: ['u1490'], sourceIds: [source.id] })
    const strict = await deleteUsers(node, { userIds: ['u1499'], suppress: true })
    await untilCompleted(node, id)
    await untilCompleted(node, strict.id)
    const sync = await ended(node, audience, syncId)
    expect(sync).toMatchObject({ status: 'completed', sent: 1_498, failed: 0 })
    expect(new Set(arrived(receiver).map(({ userId }) => userId)).size).toBe(1_500)
    expect([...cameOf(receiver, 'u1490'), ...cameOf(receiver, 'u1499')]).toEqual([])
  })

  it('tells nobody of suppressed users that come again, be it by an upload, a change, an undo or the end', async () => {
    await using receiver = await startReceiver()
    const { audience } = await givenAudience(receiver)
    const first = await ended(node, audience, await upload(node, audience, ['silent', 'u1', 'u2']))
    expect(first).toMatchObject({ sent: 3 })
    const { id, answeredAt } = await deleteUsers(node, { userIds: ['silent'], suppress: true })
    await untilCompleted(node, id)
    const syncs: Sync[] = [
      await ended(node, audience, await upload(node, audience, ['silent', 'u1', 'u2', 'u3'])),
      await ended(node, audience, await start(node, audience, 'members', { add: ['silent', 'u4'], remove: [] })),
      await ended(node, audience, await start(node, audience, `syncs/${first.id}/undo`)),
      await ended(node, audience, await upload(node, audience, ['silent', 'u5'])),
      await ended(node, audience, await start(node, audience, 'members', { add: [], remove: ['silent', 'u5'] })),
    ]
    expect(syncs.map(({ status, sent, failed }) => ({ status, sent, failed }))).toEqual(
      [1, 1, 2, 3, 1].map((sent) => ({ status: 'completed', sent, failed: 0 })),
    )
    expect(cameOf(receiver, 'silent', answeredAt)).toEqual([])
  })

  it('has the calls that it handed on called off where sources are named', async () => {
    await using receiver = await startReceiver()
    receiver.answer(({ body }) => ({ status: body.includes('"delete"') ? 200 : 503 }))
    const { source, audience } = await givenAudience(receiver)
    const handedOn = await ended(node, audience, await upload(node, audience, ['gone', 'stays']))
    expect(handedOn).toMatchObject({ handedOn: 2 })
    const { id } = await deleteUsers(node, { userIds: ['gone'], sourceIds: [source.id] })
    const completed = await untilCompleted(node, id)
    expect(completed.cancelled).toBe(1)
    const since = new Date()
    await untilOthersArrive(receiver, 1)
    expect(cameOf(receiver, 'gone', since)).toEqual([])
    // Temporal's list follows its workflows a moment later.
    const call = await until(
      'its call stands in the list as called off',
      async () => {
        const { body } = await node.api<Page<Delivery>>('GET', `/deliveries?sourceId=${audience.id}&userId=gone`)
        expect(body.items).toHaveLength(1)
        return body.items.find(({ status }) => status === 'cancelled')
      },
      limitMs,
    )
    await untilRequest(node, id, 'through with the keys of its users', ({ erasedAt }) => erasedAt !== null)
    const again = await node.api('POST', `/deliveries/${encodeURIComponent(call.id)}/redeliver`, {})
    expect(again).toMatchObject({ status: 410, body: { code: 'erased' } })
  })
})

describe('a node that is killed when it has answered', { timeout: 180_000 }, () => {
  it('sends nothing of suppressed users when it is started again', async () => {
    await using receiver = await startReceiver()
    const dataDir = await makeDataFolder()
    const options = { namespace: await createNamespace(), dataDir }
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
    const start = async () => {
      const node = await startNodeProcess(options)
      onTestFinished(() => node.stop())
      return node
    }
    const killed = await start()
    await givenWaiting(killed, receiver, 10)
    const { id, answeredAt } = await deleteUsers(killed, { userIds: ['gone'], suppress: true })
    await killed.kill()
    const restarted = await start()
    await untilOthersArrive(receiver, 10)
    await untilCompleted(restarted, id)
    expect(cameOf(receiver, 'gone', answeredAt)).toEqual([])
  })
})

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: deletions on two nodes are not tested.')

describe.skipIf(missing)('two nodes on one PostgreSQL', { timeout: 180_000 }, () => {
  it('agree before one of them answers', async () => {
    const postgres = await startPostgres()
    try {
      const environment = { DATABASE_URL: await postgres.createDatabase() }
      const logger = pino({ level: 'fatal' })
      await using asked = await startTestApp({ environment, logger })
      await using other = await startTestApp({ environment, logger, namespace: asked.namespace })
      await using receiver = await startReceiver()
      const source = await givenWaiting(asked, receiver, 20)
      const { id, answeredAt } = await deleteUsers(asked, { userIds: ['gone'], suppress: true })
      for (let n = 0; n < 10; n++) {
        await track(other, source, 'gone', `late-${n}`)
        await track(other, source, 'stays', `late-stays-${n}`)
      }
      await untilOthersArrive(receiver, 30)
      await untilCompleted(other, id)
      expect(cameOf(receiver, 'gone', answeredAt)).toEqual([])
    } finally {
      await postgres.stop()
    }
  })
})
