/** A retry window, a rate, attempts at a time and the order of users beside parts that stand still for longer than anybody waits for them:
 *  what is shown is compared with what the receiver got. */

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { DeliveryAttempt, DeliveryDetail } from '../../src/schemas/delivery.ts'
import { embeddedNamespace } from '../../src/temporal/server-launch.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { makeDataFolder } from '../support/app.ts'
import { deliveryPath, list, untilStatus } from '../support/deliveries.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { makeServerFolder, startServer } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 600_000
const limitMs = 240_000

/** Longer than a statement of the database, a call of Temporal, a task and an attempt are waited for. */
const stillMs = 20_000

interface Part {
  freeze(): void
  thaw(): void
}

const processPart = (pid: number): Part => ({
  freeze: () => process.kill(pid, 'SIGSTOP'),
  thaw: () => process.kill(pid, 'SIGCONT'),
})

/** A Temporal server of the test's own. */
async function startTemporal(): Promise<Part & { address: string }> {
  const dataDir = await makeServerFolder()
  const server = await startServer(dataDir)
  const note = await readNote(dataDir)
  if (note === undefined) throw new Error('the server is not noted')
  const part = processPart(note.pid)
  onTestFinished(async () => {
    part.thaw()
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  return { ...part, address: server.address }
}

/** PostgreSQL, Temporal and as many nodes as are started. */
async function setScene(settings: Record<string, string>) {
  const [postgres, temporal] = await Promise.all([startPostgres(), startTemporal()])
  onTestFinished(() => postgres.stop())
  const environment = { DATABASE_URL: await postgres.createDatabase(), TEMPORAL_ADDRESS: temporal.address, ...settings }
  const start = async (): Promise<NodeProcess & Part> => {
    const dataDir = await makeDataFolder()
    const node = await startNodeProcess({ namespace: embeddedNamespace, dataDir, environment })
    const part = processPart(node.pid)
    onTestFinished(async () => {
      part.thaw()
      await node.stop()
      await rm(dataDir, { recursive: true, force: true })
    })
    return { ...node, ...part }
  }
  return { postgres, temporal, start }
}

interface Message {
  messageId: string
  userId: string
  properties: { n: number }
}

const messageOf = ({ body }: ReceivedRequest): Message => JSON.parse(body.toString()) as Message

const users = Array.from({ length: 20 }, (_, n) => `user-${n}`)
const nodes = 2
const bounds = { maxPerSecond: 5, maxConcurrent: 2 }

/** Of each user the numbers of the events, in the order in which they first came. */
const orderOf = (messages: readonly Message[], user: string): number[] => [
  ...new Set(messages.filter(({ userId }) => userId === user).map(({ properties }) => properties.n)),
]

/** Whether the receiver must have got the request of an attempt: it answered, or was waited for. Any other one was begun, too, but its
 *  connection may have been lost, or its node given up, before the request arrived. */
const hasArrived = ({ status, error }: DeliveryAttempt): boolean =>
  status !== null || error?.includes('did not answer within') === true

/** How many of these go on at the same time at most, each from its beginning to its end. */
const mostAtATime = (spans: readonly (readonly [number, number])[]): number =>
  Math.max(...spans.map(([begun]) => spans.filter(([from, to]) => from <= begun && begun < to).length))

/** How many of these moments are within so many milliseconds at most. */
const mostWithin = (moments: readonly number[], ms: number): number =>
  Math.max(...moments.map((begun) => moments.filter((at) => begun <= at && at < begun + ms).length))

describe.skipIf(findPostgres() === undefined)('beside parts that stand still', { timeout }, () => {
  it('nothing is lost, users keep their order, and the bounds are kept', async () => {
    await using receiver = await startReceiver()
    const { postgres, temporal, start } = await setScene({})
    const [one, other] = await Promise.all([start(), start()])
    const source = await one.createSource()
    const { id } = await one.connect([source], [receiver.url], { options: bounds })
    const patience = { retryWindowHours: 1, retryPauses: { firstSeconds: 1, maxSeconds: 10 } }
    const patch = { ...patience, orderPerUser: { maxWaitSeconds: 3_600 } }
    expect((await one.api('PATCH', `/destinations/${id}`, patch)).status).toBe(200)
    const hanging: Part = { freeze: () => receiver.answer('hang'), thaw: () => receiver.answer({}) }

    let round = 0
    /** An event of each user, of which some are on their way. */
    const send = async (): Promise<void> => {
      const properties = { n: round }
      const batch = users.map((userId) => ({
        type: 'track',
        event: 'E',
        userId,
        messageId: `${userId}-${round}`,
        properties,
      }))
      const node = round++ % 2 === 0 ? one : other
      const before = receiver.requests.length
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
      await receiver.received(before + 4, limitMs)
    }
    const parts = [postgres, temporal, one, hanging]
    for (const part of parts) {
      await send()
      part.freeze()
      await sleep(stillMs)
      part.thaw()
    }
    await send()
    const arrived = (): Set<string> => new Set(receiver.requests.map((request) => messageOf(request).messageId))
    await until('all have arrived', () => arrived().size === users.length * round, limitMs)
    const shown = await until(
      'all are delivered',
      async () => {
        const items = await list(other, { sourceId: source.id, limit: '200' })
        return items.length === users.length * round && items.every(({ status }) => status === 'delivered') && items
      },
      limitMs,
    )

    const details: DeliveryDetail[] = []
    for (const { id: delivery } of shown)
      details.push((await other.api<DeliveryDetail>('GET', deliveryPath(delivery))).body)
    // Looked at last: whatever was told before has arrived by now.
    const messages = receiver.requests.map(messageOf)
    for (const user of users) expect(orderOf(messages, user)).toEqual(Array.from({ length: round }, (_, n) => n))
    for (const { messageId, timeline, outOfOrder, attempts } of details) {
      const requests = messages.filter((message) => message.messageId === messageId).length
      expect({ messageId, outOfOrder, attempts }).toEqual({ messageId, outOfOrder: false, attempts: timeline.length })
      // A node that goes on again may be at an attempt of what another one has delivered: it is told as stopped, after the success.
      expect(timeline.map(({ status }) => status)).toContain(200)
      expect(requests).toBeGreaterThanOrEqual(timeline.filter(hasArrived).length)
      // Of one that was under way as a part stood still nobody may have taken note.
      expect(requests).toBeLessThanOrEqual(timeline.length + parts.length)
    }
    const attempts = details.flatMap(({ timeline }) => timeline)
    const spans = attempts.map(({ at, durationMs }) => [Date.parse(at), Date.parse(at) + durationMs] as const)
    expect(mostAtATime(spans)).toBeLessThanOrEqual(nodes * bounds.maxConcurrent)
    const moments = spans.map(([begun]) => begun)
    expect(mostWithin(moments, 5_000)).toBeLessThanOrEqual(1.5 * nodes * bounds.maxPerSecond * 5)
  })

  it('a window that ends meanwhile ends once they go on, and not before its time', async () => {
    const windowMs = 15_000
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const { postgres, temporal, start } = await setScene({ POSTRIDER_RETRY_WINDOW: `${windowMs}ms` })
    const node = await start()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    for (const [name, part] of Object.entries({ postgres, temporal, node })) {
      const before = receiver.requests.length
      const event = { userId: 'u1', event: 'E', messageId: name }
      expect((await node.post('/track', source.writeKey, event)).status).toBe(200)
      await receiver.received(before + 2, limitMs)
      part.freeze()
      await sleep(stillMs)
      part.thaw()
      const { timeline, endedAt } = await untilStatus(node, `event/${source.id}/${name}`, 'failed')
      const begun = Date.parse(timeline[0]?.at ?? '')
      expect(Date.parse(endedAt ?? '') - begun).toBeGreaterThanOrEqual(0.9 * windowMs)
      const requests = receiver.requests.map(messageOf).filter(({ messageId }) => messageId === name).length
      expect([0, 1, 2]).toContain(requests - timeline.length)
    }
  })
})
