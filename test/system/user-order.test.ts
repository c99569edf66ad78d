/** Destinations that keep the order of each user's events. */

import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { DestinationView } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { deliveryPath, track, untilStatus } from '../support/deliveries.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { deliveryOf } from './deliveries.ts'

const timeout = 240_000
const limitMs = 150_000

/** Longer than a test takes, in seconds. */
const longWait = 3_600

type Node = Pick<TestApp, 'api' | 'post' | 'createSource' | 'connect'>

interface Message {
  messageId: string
  userId: string
  /** Number of the event among those of its user, from 0. */
  n: number
}

const messageOf = ({ body }: ReceivedRequest): Message => {
  const { messageId, userId, properties } = JSON.parse(body.toString()) as Message & { properties: { n: number } }
  return { messageId, userId, n: properties.n }
}

const eventOf = (userId: string, n: number) => ({
  type: 'track',
  event: 'Ordered',
  userId,
  messageId: `${userId}-${n}`,
  properties: { n },
})

/** Events of several users in turn. */
const eventsOf = (users: readonly string[], each: number) =>
  Array.from({ length: each }, (_, n) => users.map((userId) => eventOf(userId, n))).flat()

/** A source and a destination of it that keeps the order of its users' events. */
async function ordered(node: Node, receiver: Receiver, maxWaitSeconds = longWait) {
  const source = await node.createSource()
  const { id } = await node.connect([source], [receiver.url])
  const { status } = await node.api('PATCH', `/destinations/${id}`, { orderPerUser: { maxWaitSeconds } })
  expect(status).toBe(200)
  return { source, id }
}

/** Answers each event first so, and then with 200; knows in which order events were taken. */
function answerFirst(receiver: Receiver, answer: { status?: number; delayMs?: number }) {
  const seen = new Set<string>()
  const taken: Message[] = []
  receiver.answer((request) => {
    const message = messageOf(request)
    const isFirst = !seen.has(message.messageId)
    seen.add(message.messageId)
    if (isFirst && answer.status !== undefined) return answer
    if (!taken.some(({ messageId }) => messageId === message.messageId)) taken.push(message)
    return isFirst ? answer : {}
  })
  return taken
}

const numbersOf = (messages: readonly Message[], user: string): number[] =>
  messages.filter(({ userId }) => userId === user).map(({ n }) => n)

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

const postAll = async (node: Node, { writeKey }: Source, batch: readonly unknown[]): Promise<void> =>
  expect((await node.post('/batch', writeKey, { batch })).status).toBe(200)

const users = ['anna', 'ben', 'clara']

/** Posts the events of all users, and waits until all were taken in their order. */
async function expectOrder(node: Node, source: Source, taken: Message[], each: number): Promise<void> {
  await postAll(node, source, eventsOf(users, each))
  await until('all are taken', () => taken.length === users.length * each, limitMs)
  for (const user of users) expect(numbersOf(taken, user)).toEqual(upTo(each))
}

describe.each(['auto', 'off'])('with parcels %s', (parcels) => {
  let node: TestApp
  beforeAll(async () => {
    const environment = { POSTRIDER_PARCELS: parcels, POSTRIDER_RETRY_INITIAL: '50ms', POSTRIDER_RETRY_MAX: '100ms' }
    node = await startTestApp({ environment })
  })
  afterAll(() => node[Symbol.asyncDispose]())

  it('events of a user are taken in the order in which they came, however slowly', { timeout }, async () => {
    await using receiver = await startReceiver()
    const { source } = await ordered(node, receiver)
    await expectOrder(node, source, answerFirst(receiver, { delayMs: 30 }), 20)
    expect(receiver.requests).toHaveLength(60)
  })

  it('events whose first attempts fail are not overtaken', { timeout }, async () => {
    await using receiver = await startReceiver()
    const { source } = await ordered(node, receiver)
    await expectOrder(node, source, answerFirst(receiver, { status: 503 }), 6)
  })

  it(
    'an event that fails for good lets the next one go, and users do not wait for each other',
    { timeout },
    async () => {
      await using receiver = await startReceiver()
      const { source } = await ordered(node, receiver)
      let isStuck = true
      receiver.answer((request) => {
        const { userId, n } = messageOf(request)
        if (userId === 'anna' && n === 0) return { status: isStuck ? 503 : 400 }
        return {}
      })
      await postAll(node, source, eventsOf(users, 8))
      const taken = (): Message[] => receiver.requests.map(messageOf)
      const others = (): Message[] => taken().filter(({ userId }) => userId !== 'anna')
      await until('those of the others are taken', () => others().length === 16, limitMs)
      await untilStatus(node, `event/${source.id}/anna-0`, 'retrying')
      expect(new Set(numbersOf(taken(), 'anna'))).toEqual(new Set([0]))
      const { body } = await node.api<{ status: string; reason: string }>(
        'GET',
        deliveryPath(`event/${source.id}/anna-1`),
      )
      expect(body).toMatchObject({ status: 'queued', reason: 'waits for the event before it of the same user' })

      isStuck = false
      await until('the last one is taken', () => taken().some(({ userId, n }) => userId === 'anna' && n === 7), limitMs)
      expect(numbersOf(taken(), 'anna').filter((n) => n > 0)).toEqual(upTo(8).slice(1))
      await untilStatus(node, `event/${source.id}/anna-0`, 'failed')
    },
  )
})

describe('a destination that keeps the order', () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  /** One of two events of a user that hangs at its endpoint, and one that waits for it. */
  const oneBehind = async (receiver: Receiver, maxWaitSeconds: number) => {
    const { source, id } = await ordered(node, receiver, maxWaitSeconds)
    receiver.answer((request) => (messageOf(request).n === 0 ? { status: 503 } : {}))
    const first = await track(node, source, eventOf('anna', 0))
    await receiver.received(1)
    const second = await track(node, source, eventOf('anna', 1))
    return { source, id, first, second }
  }

  it('lets an event go that has waited for as long as it may', { timeout }, async () => {
    await using receiver = await startReceiver()
    const { source, first, second } = await oneBehind(receiver, 1)
    await untilStatus(node, second, 'delivered')
    await untilStatus(node, first, 'retrying')
    const outOfOrder = async (id: string) => (await node.api<DeliveryDetail>('GET', deliveryPath(id))).body.outOfOrder
    expect([await outOfOrder(first), await outOfOrder(second)]).toEqual([false, true])
    expect(await (await fetch(`${node.url}/metrics`)).text()).toMatch(/fate="out_of_order"[^}]*\} 1$/m)

    // Those that come in a parcel, and one that is delivered again.
    await postAll(
      node,
      source,
      upTo(30).map((n) => eventOf('anna', 2 + n)),
    )
    const last = `event/${source.id}/anna-31`
    await untilStatus(node, last, 'delivered')
    expect(await outOfOrder(last)).toBe(true)
    const again = await node.api<{ id: string }>('POST', deliveryPath(last, '/redeliver'))
    await untilStatus(node, again.body.id, 'delivered')
    expect(await outOfOrder(again.body.id)).toBe(false)
    receiver.answer({})
    await untilStatus(node, first, 'delivered')
  })

  it('lets the next one go when the one before it is cancelled', { timeout }, async () => {
    await using receiver = await startReceiver()
    const { first, second } = await oneBehind(receiver, longWait)
    await untilStatus(node, first, 'retrying')
    expect((await node.api('POST', deliveryPath(first, '/cancel'))).status).toBe(200)
    await untilStatus(node, second, 'delivered')
  })

  it('lets an event go when an operator wants it now', { timeout }, async () => {
    await using receiver = await startReceiver()
    const { first, second } = await oneBehind(receiver, longWait)
    await untilStatus(node, second, 'queued')
    expect((await node.api('POST', deliveryPath(second, '/retry'))).status).toBe(200)
    await untilStatus(node, second, 'delivered')
    receiver.answer({})
    await untilStatus(node, first, 'delivered')
  })

  it('does not wait for an event that came twice', { timeout }, async () => {
    await using receiver = await startReceiver()
    const { source } = await ordered(node, receiver)
    const first = await track(node, source, eventOf('anna', 0))
    await untilStatus(node, first, 'delivered')
    await track(node, source, eventOf('anna', 0))
    await untilStatus(node, await track(node, source, eventOf('anna', 1)), 'delivered')
    expect(receiver.requests.map(messageOf).map(({ n }) => n)).toEqual([0, 1])
  })

  it('says so, and refuses what is out of bounds by name', async () => {
    const { id, orderPerUser } = await node.connect([], [])
    expect(orderPerUser).toBeNull()
    const change = (wanted: unknown) =>
      node.api<DestinationView & { path?: string }>('PATCH', `/destinations/${id}`, { orderPerUser: wanted })
    for (const maxWaitSeconds of [0, 86_401, 1.5])
      expect(await change({ maxWaitSeconds })).toMatchObject({
        status: 400,
        body: { path: 'orderPerUser.maxWaitSeconds' },
      })
    expect((await change({ maxWaitSeconds: 60 })).body.orderPerUser).toEqual({ maxWaitSeconds: 60 })
    expect((await change(null)).body.orderPerUser).toBeNull()
  })
})

it('is kept when the node is killed in the middle, and nothing is lost', { timeout }, async () => {
  await using receiver = await startReceiver()
  const [namespace, dataDir] = [await createNamespace(), await makeDataFolder()]
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const start = async () => {
    const started = await startNodeProcess({ namespace, dataDir })
    onTestFinished(() => started.stop())
    return started
  }
  const killed = await start()
  const { source } = await ordered(killed, receiver)
  const taken = answerFirst(receiver, { delayMs: 20 })
  await postAll(killed, source, eventsOf(users, 20))
  await until('some are taken', () => taken.length >= 15, limitMs)
  await killed.kill()
  expect(taken.length).toBeLessThan(60)
  await start()
  await until('all are taken', () => taken.length === 60, limitMs)
  for (const user of users) expect(numbersOf(taken, user)).toEqual(upTo(20))
})

describe.skipIf(findPostgres() === undefined)('two nodes on one database', () => {
  it('keep the order together', { timeout }, async () => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const environment = { DATABASE_URL: await postgres.createDatabase() }
    const logger = pino({ level: 'fatal' })
    await using receiver = await startReceiver()
    await using first = await startTestApp({ environment, logger })
    const { source } = await ordered(first, receiver)
    const taken = answerFirst(receiver, { delayMs: 5 })
    // It knows them from its start on.
    await using second = await startTestApp({ environment, logger, namespace: first.namespace })
    // One after the other, by either node: what was acknowledged comes before what was posted then.
    for (const [index, event] of eventsOf(users, 20).entries())
      await track(index % 2 === 0 ? first : second, source, event)
    await until('all are taken', () => taken.length === 60, limitMs)
    for (const user of users) expect(numbersOf(taken, user)).toEqual(upTo(20))
  })

  it('keep it while one of them is killed, and the database goes away and comes back', { timeout }, async () => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const environment = { DATABASE_URL: await postgres.createDatabase() }
    await using receiver = await startReceiver()
    const [namespace, ...dataDirs] = [await createNamespace(), await makeDataFolder(), await makeDataFolder()]
    const nodes: NodeProcess[] = []
    for (const dataDir of dataDirs) {
      onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
      const started = await startNodeProcess({ namespace, dataDir, environment })
      onTestFinished(() => started.stop())
      nodes.push(started)
    }
    const [killed, stays] = nodes
    if (killed === undefined || stays === undefined) throw new Error('there are two')
    const { source } = await ordered(stays, receiver)
    const taken = answerFirst(receiver, { delayMs: 20 })
    await postAll(stays, source, eventsOf(users, 20))
    await until('some are taken', () => taken.length >= 10, limitMs)
    await killed.kill()
    await postgres.halt()
    const meanwhile = taken.length
    await postgres.resume()
    await until('all are taken', () => taken.length === 60, limitMs)
    expect(meanwhile).toBeLessThan(60)
    for (const user of users) expect(numbersOf(taken, user)).toEqual(upTo(20))
  })
})

describe.skipIf(findPostgres() === undefined)('while the database is away', () => {
  it('an event that ends lets the next one go once it is back', { timeout }, async () => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    await using relay = await startTcpRelay(postgres.port)
    const url = new URL(await postgres.createDatabase())
    url.port = String(relay.port)
    const environment = { DATABASE_URL: url.href, POSTRIDER_PARCELS: 'off' }
    await using receiver = await startReceiver()
    await using node = await startTestApp({ environment, logger: pino({ level: 'fatal' }) })
    const { source } = await ordered(node, receiver)
    receiver.answer((request) => {
      if (messageOf(request).n === 0) relay.shut()
      return {}
    })
    await postAll(node, source, [eventOf('anna', 0), eventOf('anna', 1)])
    const first = deliveryOf(node.app.temporal, source, 'anna-0')
    const isTriedAgain = async (): Promise<boolean> => {
      const { raw } = await first.describe()
      return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'leaveLine') === true
    }
    await receiver.received(1)
    await until('its place is to be given up', isTriedAgain, limitMs)
    relay.open()
    await receiver.received(2, limitMs)
    expect(receiver.requests.map(messageOf).map(({ n }) => n)).toEqual([0, 1])
  })
})
