/** What becomes of the events of a parcel: each is told apart, whatever its neighbours meet. */

import { randomUUID } from 'node:crypto'
import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { signals, type RetrySchedule } from '../../src/contracts/delivery.ts'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { ParcelResult } from '../../src/contracts/parcels.ts'
import { ownRetry } from '../../src/contracts/retry-window.ts'
import type { Database } from '../../src/db/database.ts'
import { addToInbox, turnsInInbox, type NewInboxEvent } from '../../src/db/inbox.ts'
import { migrate } from '../../src/db/migrate.ts'
import { moveIntoParcels } from '../../src/db/parcels.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createParcelLoad } from '../../src/delivery/parcel-load.ts'
import { createInboxTurns } from '../../src/intake/inbox-turns.ts'
import { createInboxWriter } from '../../src/intake/inbox-writer.ts'
import { createParcelStarts } from '../../src/intake/start-parcels.ts'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { isRunning, knownWorkflows, startParcel } from '../../src/temporal/start-parcel.ts'
import type { deliverParcel } from '../../workflows/deliver-parcel.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { withPatientLast } from './deliveries.ts'

const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `m-${n}`)
const ok = { status: 200 }
const down = { status: 503 }

const requestsOf = ({ requests }: Receiver, messageId: string) =>
  requests.filter(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId === messageId)
const countsAt = (receiver: Receiver, count: number): number[] =>
  ids(count).map((id) => requestsOf(receiver, id).length)

/** Answers 503 to the first attempts of each event. */
const failEachFirst = (receiver: Receiver, attempts: number): void =>
  receiver.answer(({ body }) => {
    const { messageId } = JSON.parse(body.toString()) as { messageId: string }
    return requestsOf(receiver, messageId).length <= attempts ? down : ok
  })

const separateRetry: RetrySchedule = { windowMs: 60_000, initialMs: 200, maxMs: 1_000 }

interface ParcelOptions {
  retry?: Partial<RetrySchedule>
  userIds?: string[]
  sourceId?: string
  /** Milliseconds before now. */
  age?: number
}

describe.skipIf(findPostgres() === undefined)('a parcel', () => {
  let postgres: PostgresServer
  let database: Database
  let node: TestApp
  beforeAll(async () => {
    postgres = await startPostgres()
    const databaseUrl = await postgres.createDatabase()
    node = await startTestApp({ environment: { DATABASE_URL: databaseUrl } })
    database = openPostgres(databaseUrl, pino({ level: 'silent' }))
  })
  afterAll(async () => {
    await database.close()
    await node[Symbol.asyncDispose]()
    await postgres.stop()
  })

  /** Puts events into one parcel, as the inbox does, and starts its workflow. */
  async function send(destinations: Destination[], messageIds: string[], options: ParcelOptions = {}) {
    const { userIds = [], sourceId = `src_${randomUUID()}`, age = 0 } = options
    const retry = { windowMs: 60_000, initialMs: 200, maxMs: 1_000, ...options.retry }
    const targets = destinations.map(({ id, successPolicy, settings, ...its }) => ({
      destinationId: id,
      endpointIds: settings.webhooks.map((webhook) => webhook.id),
      successPolicy,
      ...ownRetry({ settings, ...its }),
    }))
    const events = messageIds.map((messageId, n) => ({
      receivedAt: new Date(Date.now() - age),
      input: {
        sourceId,
        messageId,
        message: { type: 'track' as const, messageId, timestamp: new Date().toISOString(), userId: userIds[n] ?? 'u' },
        targets,
        retry,
      },
    }))
    const parcel = await database.transaction(async (tx) => {
      await addToInbox(tx, events)
      const [turn] = await turnsInInbox(tx, `${sourceId} `, 1)
      const [made] = await moveIntoParcels(tx, `parcel/${randomUUID()}`, [turn?.id ?? ''], messageIds.length)
      return made
    })
    if (parcel === undefined) throw new Error('no parcel was made')
    await startParcel(node.app.temporal, {
      id: parcel.id,
      input: { events: parcel.events.map(({ eventId: _, ...event }) => event), retry },
    })
    const handle = node.app.temporal.client.workflow.getHandle<typeof deliverParcel>(parcel.id)
    const list = () =>
      database.query<{ message_id: string; status: string; attempts: number; reason: string | null }>(
        'select message_id, status, attempts, reason from parcel_events where parcel_id = $1 order by place',
        [parcel.id],
      )
    return {
      handle,
      list,
      outcomes: async () => (await list()).map(({ status, attempts }) => [status, attempts]),
      untilAll: (status: string) =>
        until(`all are ${status}`, async () => (await list()).every((event) => event.status === status)),
      /** Of the event that was the `n`th of the parcel. */
      outcomeIn: ({ events: told }: ParcelResult, n: number) =>
        told[node.app.temporal.names.workflowId(eventWorkflowId(sourceId, `m-${n}`))],
      tell: (destination: Destination) => handle.signal(signals.destinationChanged, destination.id),
    }
  }

  const patch = async ({ id }: Destination, change: object): Promise<void> => {
    const { status, body } = await node.api('PATCH', `/destinations/${id}`, change)
    if (status !== 200) throw new Error(`not changed: ${status} ${JSON.stringify(body)}`)
  }

  /** The result of a parcel that has events which failed. */
  async function failureOf({
    handle,
  }: Awaited<ReturnType<typeof send>>): Promise<{ message: string; result: ParcelResult }> {
    const error: unknown = await handle.result().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure))
      throw new Error('the parcel did not fail as parcels do', { cause: error })
    return { message: error.cause.message, result: (error.cause.details as [ParcelResult])[0] }
  }

  it.concurrent('is through when one of five endpoints took each event, and tries none again', async ({ expect }) => {
    const receivers = await Promise.all(
      [ok, { status: 404 }, down, down, down].map(async (answer) => {
        const receiver = await startReceiver()
        receiver.answer(answer)
        return receiver
      }),
    )
    const destination = await node.connect(
      [],
      receivers.map(({ url }) => url),
    )
    const parcel = await send([destination], ids(6))
    const result = await parcel.handle.result()
    expect(result.counts).toEqual({ delivered: 6 })
    expect(parcel.outcomeIn(result, 3)).toBe('delivered')
    for (const receiver of receivers) expect(countsAt(receiver, 6)).toEqual([1, 1, 1, 1, 1, 1])
    expect(await parcel.outcomes()).toEqual(Array.from({ length: 6 }, () => ['delivered', 5]))
    await Promise.all(receivers.map((receiver) => receiver.close()))
  })

  it.concurrent('waits in its first round for as long as an endpoint is given', async ({ expect }) => {
    await using slow = await startReceiver()
    slow.answer({ delayMs: 12_000 })
    const destination = await node.connect([], [slow.url], { options: { timeoutSeconds: 30 } })
    const parcel = await send([destination], ids(2))
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 2 })
    expect(countsAt(slow, 2)).toEqual([1, 1])
  })

  it.concurrent('goes on until all endpoints took each event where all are needed', async ({ expect }) => {
    await using good = await startReceiver()
    await using poor = await startReceiver()
    failEachFirst(poor, 2)
    const destination = await node.connect([], [good.url, poor.url], { successPolicy: 'all' })
    const parcel = await send([destination], ids(4))
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 4 })
    expect(countsAt(good, 4)).toEqual([1, 1, 1, 1])
    expect(countsAt(poor, 4)).toEqual([3, 3, 3, 3])
    expect(await parcel.outcomes()).toEqual(Array.from({ length: 4 }, () => ['delivered', 4]))
  })

  it.concurrent(
    'delivers once to a healthy destination, and tries another one until it answers',
    async ({ expect }) => {
      await using healthy = await startReceiver()
      await using ill = await startReceiver()
      ill.answer(down)
      const destinations = [await node.connect([], [healthy.url]), await node.connect([], [ill.url])]
      const parcel = await send(destinations, ids(5))
      await until('each was tried again', () => countsAt(ill, 5).every((count) => count > 1))
      expect(countsAt(healthy, 5)).toEqual([1, 1, 1, 1, 1])
      const [shown] = await parcel.list()
      expect(shown).toMatchObject({ status: 'retrying', reason: expect.stringContaining('503') as string })
      ill.answer(ok)
      expect((await parcel.handle.result()).counts).toEqual({ delivered: 5 })
      expect(countsAt(healthy, 5)).toEqual([1, 1, 1, 1, 1])
      expect(await parcel.outcomes()).toEqual(countsAt(ill, 5).map((count) => ['delivered', 1 + count]))
    },
  )

  it.concurrent(
    'tells every attempt of an event once, in the parcel and after it left',
    async ({ expect }) => {
      await using often = await startReceiver()
      await using seldom = await startReceiver()
      // Later it asks for a pause, in which nothing moves.
      often.answer(({ body }) => {
        const { messageId } = JSON.parse(body.toString()) as { messageId: string }
        return requestsOf(often, messageId).length < 14 ? down : { ...down, headers: { 'retry-after': '60' } }
      })
      // Tried side by side with the other: both write the list.
      failEachFirst(seldom, 4)
      const destinations = [await node.connect([], [often.url]), await node.connect([], [seldom.url])]
      const sourceId = `src_${randomUUID()}`
      await send(destinations, ids(2), { sourceId, retry: { initialMs: 100, maxMs: 150, windowMs: 600_000 } })
      const id = eventWorkflowId(sourceId, 'm-1')
      const path = `/deliveries/${encodeURIComponent(id)}`
      const logged = (): number => requestsOf(often, 'm-1').length + requestsOf(seldom, 'm-1').length
      const detail = await until(
        'each attempt of the log is told once',
        async () => {
          const before = logged()
          const { body } = await node.api<DeliveryDetail>('GET', path)
          return before >= 14 + 5 && logged() === before && body.timeline.length === before && body
        },
        120_000,
      )
      expect(detail.attempts).toBe(detail.timeline.length)
      expect(new Set(detail.timeline.map(({ endpointId, at }) => `${endpointId} ${at}`)).size).toBe(detail.attempts)
      expect(detail.timeline.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(detail.timeline.filter(({ url }) => url === seldom.url)).toHaveLength(5)
      expect(detail.timeline.map(({ at }) => at)).toEqual(detail.timeline.map(({ at }) => at).toSorted())

      often.answer(ok)
      expect((await node.api('POST', `${path}/retry`)).status).toBe(200)
      const delivered = await until(
        'it is delivered',
        async () => {
          const { body } = await node.api<DeliveryDetail>('GET', path)
          return body.status === 'delivered' && body
        },
        120_000,
      )
      expect(delivered.timeline.map(({ url }) => url).filter((url) => url === often.url)).toHaveLength(
        requestsOf(often, 'm-1').length,
      )
      expect(delivered.timeline).toHaveLength(logged())
      expect(delivered.attempts).toBe(logged())
    },
    300_000,
  )

  it.concurrent('fails with the reason of each event when the window is over', async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer(({ body }) => {
      const { messageId } = JSON.parse(body.toString()) as { messageId: string }
      return messageId === 'm-0' ? ok : { status: messageId === 'm-1' ? 413 : 503 }
    })
    const parcel = await send([await node.connect([], [receiver.url])], ids(4), { retry: { windowMs: 8_000 } })
    const { message, result } = await failureOf(parcel)
    expect(message).toBe('3 of 4 events failed')
    expect(result.counts).toEqual({ delivered: 1, failed: 3 })
    expect(parcel.outcomeIn(result, 0)).toBe('delivered')
    // Too large for the receiver: final, and not its neighbours' matter.
    expect(parcel.outcomeIn(result, 1)).toMatch(/^failed: .*413/)
    expect(parcel.outcomeIn(result, 2)).toMatch(/^failed: .*503/)
    const counts = countsAt(receiver, 4)
    expect(counts.slice(0, 2)).toEqual([1, 1])
    expect(Math.min(...counts.slice(2))).toBeGreaterThan(1)
    const outcomes = await parcel.outcomes()
    expect(outcomes.map(([status]) => status)).toEqual(['delivered', 'failed', 'failed', 'failed'])
    // The end of the window may meet one request, which nobody waits for.
    for (const [n, [, attempts]] of outcomes.entries()) expect([counts[n], (counts[n] ?? 0) - 1]).toContain(attempts)
  })

  it.concurrent.for(['any', 'all'] as const)(
    'gives up an endpoint when its window is over, and goes on at one whose own is longer, where %s is needed',
    { timeout: 300_000 },
    async (successPolicy, { expect }) => {
      await using short = await startReceiver()
      await using patient = await startReceiver()
      for (const one of [short, patient]) one.answer(down)
      const destination = await node.connect([], [short.url, patient.url], { successPolicy })
      const sourceId = `src_${randomUUID()}`
      const options = { sourceId, retry: { windowMs: 5_000 } }
      const parcel = await send([await withPatientLast(node, destination)], ids(3), options)
      const path = (n: number) => `/deliveries/${encodeURIComponent(eventWorkflowId(sourceId, `m-${n}`))}`
      const detailOf = async (n: number) => (await node.api<DeliveryDetail>('GET', path(n))).body
      for (const n of [0, 1, 2]) {
        const { status, destinations } = await until('the first endpoint is given up', async () => {
          const detail = await detailOf(n)
          return detail.destinations[0]?.endpoints[0]?.status === 'failed' && detail
        })
        expect(status).toBe('retrying')
        const reason = expect.stringContaining('503') as string
        expect(destinations).toMatchObject([
          { status: 'retrying', endpoints: [{ reason }, { status: 'retrying', retryWindowMs: 3_600_000 }] },
        ])
        expect(destinations[0]?.endpoints[0]).not.toHaveProperty('retryWindowMs')
      }
      const [atShort, atPatient] = [countsAt(short, 3), countsAt(patient, 3)]
      expect(Math.min(...atShort)).toBeGreaterThan(1)
      // One event leaves the parcel, and takes the window along.
      expect((await node.api('POST', `${path(0)}/retry`)).status).toBe(200)
      await until('all were tried again', () => countsAt(patient, 3).every((count, n) => count > (atPatient[n] ?? 0)))
      patient.answer(ok)
      const outcome = successPolicy === 'any' ? 'delivered' : 'failed'
      const { counts } = successPolicy === 'any' ? await parcel.handle.result() : (await failureOf(parcel)).result
      expect(counts).toEqual({ left: 1, [outcome]: 2 })
      await until('the one that left has ended', async () => (await detailOf(0)).status === outcome)
      for (const n of [0, 1, 2])
        expect((await detailOf(n)).destinations).toMatchObject([
          { status: outcome, endpoints: [{ status: 'failed' }, { status: 'delivered' }] },
        ])
      expect(countsAt(short, 3)).toEqual(atShort)
    },
  )

  it.concurrent('waits for as long as an endpoint asks, from the first answer on', async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answerInTurn(
      { ...down, headers: { 'retry-after': '3' } },
      { ...down, headers: { 'retry-after': '2' } },
      ok,
    )
    const parcel = await send([await node.connect([], [receiver.url])], ids(1))
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 1 })
    const [first = 0, second = 0, third = 0] = receiver.requests.map(({ arrivedAt }) => arrivedAt.getTime())
    expect(second - first).toBeGreaterThanOrEqual(2_900)
    expect(third - second).toBeGreaterThanOrEqual(1_900)
    expect(receiver.requests).toHaveLength(3)
  })

  it.concurrent('gives each event its own pause, also beside those that wait for a turn', async ({ expect }) => {
    await using receiver = await startReceiver()
    const count = 60
    const isFailing = (messageId: string): boolean => Number(messageId.slice(2)) % 3 === 0
    // So slow that the endpoint takes only some of them at first.
    receiver.answer(({ body }) => {
      const { messageId } = JSON.parse(body.toString()) as { messageId: string }
      const isFirst = requestsOf(receiver, messageId).length === 1
      return { status: isFailing(messageId) && isFirst ? 503 : 200, delayMs: 400 }
    })
    const retry = { initialMs: 6_000, maxMs: 6_000 }
    const parcel = await send([await node.connect([], [receiver.url])], ids(count), { retry })
    expect((await parcel.handle.result()).counts).toEqual({ delivered: count })
    const times = ids(count).map((id) => requestsOf(receiver, id).map(({ arrivedAt }) => arrivedAt.getTime()))
    expect(times.map(({ length }) => length)).toEqual(ids(count).map((id) => (isFailing(id) ? 2 : 1)))
    // At least half of a pause is waited; the failure came after the request.
    for (const [first = 0, second = Infinity] of times) expect(second - first).toBeGreaterThanOrEqual(3_000)
    const firsts = times.map(([first = 0]) => first).sort((a, b) => a - b)
    // Some were turned away, and did not wait for those that had failed.
    expect(firsts.at(-1)).toBeLessThan(Math.max(...times.flatMap(([, second]) => second ?? [])))
  })

  it.concurrent('lists events as retrying that wait for an endpoint that is down', async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer(down)
    const destination = await node.connect([], [receiver.url])
    const isKeptAway = ({ reason }: { reason: string | null }): boolean => reason?.includes('is down') === true
    const first = await send([destination], ids(30))
    await until('the endpoint is down', async () => (await first.list()).some(isKeptAway))
    const sourceId = `src_${randomUUID()}`
    const second = await send([destination], ids(5), { sourceId })
    const shown = await until('the log says of one that was never attempted when it is due', async () => {
      const path = `/deliveries?status=retrying&sourceId=${sourceId}`
      const { items } = (await node.api<{ items: Delivery[] }>('GET', path)).body
      return items.find((one) => one.attempts === 0 && one.nextAttemptAt !== null)
    })
    expect(shown.reason).toMatch(/^not attempted: the endpoint is down since [^ ]+Z, next probe at [^ ]+Z$/)
    const overdueSource = `src_${randomUUID()}`
    await failureOf(await send([destination], ids(5), { sourceId: overdueSource, retry: { windowMs: 2_000 } }))
    const overdue = await until('the log says of one that was never attempted that it is over', async () => {
      const path = `/deliveries?status=failed&sourceId=${overdueSource}`
      const { items } = (await node.api<{ items: Delivery[] }>('GET', path)).body
      return items.find((one) => one.attempts === 0)
    })
    // Nothing that is over is probed.
    expect(overdue.reason).toMatch(/^not attempted: the endpoint is down since \S+Z$/)
    receiver.answer(ok)
    expect((await first.handle.result()).counts).toEqual({ delivered: 30 })
    expect((await second.handle.result()).counts).toEqual({ delivered: 5 })
  })

  it.concurrent('makes several attempts whatever an endpoint asks for', async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer({ ...down, headers: { 'retry-after': '3600' } })
    const parcel = await send([await node.connect([], [receiver.url])], ids(1), { retry: { windowMs: 9_000 } })
    await failureOf(parcel)
    expect(receiver.requests.length).toBeGreaterThan(2)
  })

  it.concurrent('is held before its first attempts, with a window that begins with them', async ({ expect }) => {
    await using receiver = await startReceiver()
    const destination = await node.connect([], [receiver.url])
    await patch(destination, { paused: true })
    const retry = { windowMs: 10_000 }
    const parcel = await send([destination], ids(3), { retry })
    await parcel.untilAll('held')
    const heldAt = Date.now()
    await until('the pause is longer than the window', () => Date.now() - heldAt > retry.windowMs + 500)
    expect(receiver.requests).toEqual([])
    failEachFirst(receiver, 1)
    await patch(destination, { paused: false })
    await parcel.tell(destination)
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 3 })
    expect(await parcel.outcomes()).toEqual([1, 2, 3].map(() => ['delivered', 2]))
  })

  it.concurrent('is held as a whole, with what had no turn before its destination was paused', async ({ expect }) => {
    await using slow = await startReceiver()
    await using refusing = await startReceiver()
    // A round begins no attempt after 6 s: the slow endpoint gets none for most events.
    slow.answer({ ...down, delayMs: 7_000 })
    refusing.answer({ status: 404, delayMs: 2_000 })
    const destination = await node.connect([], [slow.url, refusing.url], { options: { timeoutSeconds: 30 } })
    const parcel = await send([destination], ids(40))
    await refusing.received(17)
    await patch(destination, { paused: true })
    const count = async (status: string): Promise<number> => {
      const path = `/deliveries/count?destinationId=${destination.id}&status=${status}`
      return (await node.api<{ count: number }>('GET', path)).body.count
    }
    await until('all are held', async () => (await count('held')) === 40, 30_000)
    expect(await count('delivering')).toBe(0)
    expect(requestsOf(slow, 'm-39')).toEqual([])
    slow.answer(ok)
    await patch(destination, { paused: false })
    await parcel.tell(destination)
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 40 })
  })

  it.concurrent('lets the window stand still while held in the middle of retries', async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer(down)
    const destination = await node.connect([], [receiver.url])
    const retry = { windowMs: 20_000, initialMs: 500, maxMs: 500 }
    const parcel = await send([destination], ids(3), { retry })
    await until('each was tried again', () => countsAt(receiver, 3).every((count) => count > 1))
    await patch(destination, { paused: true })
    await parcel.untilAll('held')
    const before = countsAt(receiver, 3)
    const heldAt = Date.now()
    await until('the pause is longer than the window', () => Date.now() - heldAt > retry.windowMs + 500)
    expect(countsAt(receiver, 3)).toEqual(before)
    receiver.answer(ok)
    await patch(destination, { paused: false })
    await parcel.tell(destination)
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 3 })
    expect(await parcel.outcomes()).toEqual(before.map((count) => ['delivered', count + 1]))
  })

  it.concurrent('lets the window of each endpoint stand still while held', async ({ expect }) => {
    await using short = await startReceiver()
    await using patient = await startReceiver()
    for (const one of [short, patient]) one.answer(down)
    const connected = await node.connect([], [short.url, patient.url], { successPolicy: 'all' })
    const destination = await withPatientLast(node, connected)
    const retry = { windowMs: 20_000, initialMs: 500, maxMs: 500 }
    const parcel = await send([destination], ids(3), { retry })
    await until('each was tried again', () => countsAt(short, 3).every((count) => count > 1))
    await patch(destination, { paused: true })
    await parcel.untilAll('held')
    const heldAt = Date.now()
    await until('the pause is longer than the window', () => Date.now() - heldAt > retry.windowMs + 500)
    for (const one of [short, patient]) one.answer(ok)
    await patch(destination, { paused: false })
    await parcel.tell(destination)
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 3 })
  })

  it.concurrent('does not fail at the end of the window while its destination is paused', async ({ expect }) => {
    await using receiver = await startReceiver()
    const destination = await node.connect([], [receiver.url])
    const retry = { windowMs: 5_000, initialMs: 4_000, maxMs: 4_000 }
    receiver.answer((_, index) => (index === 0 ? down : { ...down, delayMs: 4_000 }))
    const parcel = await send([destination], ids(1), { retry })
    await receiver.received(2)
    // The window would be over during this attempt, and what it becomes is told after the pause was found.
    await patch(destination, { paused: true })
    await parcel.untilAll('held')
    receiver.answer(ok)
    await patch(destination, { paused: false })
    await parcel.tell(destination)
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 1 })
  })

  it.concurrent(
    'discards what waits for a destination that is switched off, and not what others have',
    async ({ expect }) => {
      await using ill = await startReceiver()
      await using other = await startReceiver()
      ill.answer(down)
      const [off, on] = [await node.connect([], [ill.url]), await node.connect([], [other.url])]
      const alone = await send([off], ids(2))
      const both = await send([off, on], ids(2))
      await until('each was tried again', () => countsAt(ill, 2).every((count) => count > 3))
      await patch(off, { enabled: false })
      expect((await alone.handle.result()).counts).toEqual({ discarded: 2 })
      expect((await alone.list())[0]).toMatchObject({ status: 'discarded', reason: expect.any(String) as string })
      expect((await both.handle.result()).counts).toEqual({ partly_delivered: 2 })
      expect(countsAt(other, 2)).toEqual([1, 1])
    },
  )

  it.concurrent.for(['failed', 'discarded'] as const)(
    'tells that one destination has %s it while another one holds it',
    async (end, { expect }) => {
      await using ill = await startReceiver()
      await using other = await startReceiver()
      ill.answer(down)
      const [given, held] = [await node.connect([], [ill.url]), await node.connect([], [other.url])]
      await patch(held, { paused: true })
      const sourceId = `src_${randomUUID()}`
      const parcel = await send([given, held], ids(2), { sourceId, retry: end === 'failed' ? { windowMs: 5_000 } : {} })
      await until('each was tried again', () => countsAt(ill, 2).every((count) => count > 1))
      if (end === 'discarded') await patch(given, { enabled: false })
      const path = `/deliveries/${encodeURIComponent(eventWorkflowId(sourceId, 'm-1'))}`
      await until(`it has ${end} at the one and is held by the other`, async () => {
        const { status, destinations } = (await node.api<DeliveryDetail>('GET', path)).body
        return [status, ...destinations.map((one) => one.status)].join() === `held,${end},held`
      })
      expect((await parcel.list()).map(({ status }) => status)).toEqual(['held', 'held'])
      expect(other.requests).toEqual([])
    },
  )

  it.concurrent('discards what was held for a destination that is switched off', async ({ expect }) => {
    await using receiver = await startReceiver()
    const destination = await node.connect([], [receiver.url])
    await patch(destination, { paused: true })
    const parcel = await send([destination], ids(2))
    await parcel.untilAll('held')
    await patch(destination, { enabled: false })
    await parcel.tell(destination)
    expect((await parcel.handle.result()).counts).toEqual({ discarded: 2 })
    expect(receiver.requests).toEqual([])
  })

  it.concurrent('goes on without an endpoint that was removed', async ({ expect }) => {
    await using ill = await startReceiver()
    await using removed = await startReceiver()
    ill.answer(down)
    removed.answer(down)
    const destination = await node.connect([], [ill.url, removed.url], { successPolicy: 'all' })
    const parcel = await send([destination], ids(2))
    await until('each was tried again', () => countsAt(removed, 2).every((count) => count > 1))
    await patch(destination, { settings: { webhooks: destination.settings.webhooks.slice(0, 1) } })
    await until('it is told', async () => (await parcel.list()).every(({ attempts }) => attempts > 0))
    ill.answer(ok)
    await parcel.untilAll('failed')
    const { result } = await failureOf(parcel)
    expect(parcel.outcomeIn(result, 0)).toMatch(/^failed: .*endpoint/)
    expect(countsAt(ill, 2).every((count) => count > 0)).toBe(true)
  })

  it.concurrent('ends as cancelled with all that is open, when it is cancelled in Temporal', async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer(({ body }) => (body.includes('m-0') ? ok : down))
    const parcel = await send([await node.connect([], [receiver.url])], ids(3))
    await until('the others were tried again', () =>
      countsAt(receiver, 3)
        .slice(1)
        .every((count) => count > 1),
    )
    await parcel.handle.cancel()
    const error: unknown = await parcel.handle.result().catch((reason: unknown) => reason)
    expect((error as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure)
    const made = countsAt(receiver, 3)
    expect(await parcel.outcomes()).toEqual([
      ['delivered', 1],
      ['cancelled', made[1]],
      ['cancelled', made[2]],
    ])
  })

  it.concurrent('does not send events of users that were deleted since', async ({ expect }) => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const userId = `gone-${randomUUID()}`
    expect((await node.api('POST', '/deletion-requests', { userIds: [userId], suppress: true })).status).toBe(202)
    await receiver.received(1)
    const before = receiver.requests.length
    const parcel = await send([destination], ids(2), { sourceId: source.id, userIds: [userId, 'other'], age: 60_000 })
    expect((await parcel.handle.result()).counts).toEqual({ delivered: 1, discarded: 1 })
    expect((await parcel.list())[0]).toMatchObject({ status: 'discarded', reason: 'the user was deleted', attempts: 0 })
    expect(receiver.requests).toHaveLength(before + 1)
  })

  /** Starts of parcels on a database of their own, so that no drainer is beside them.
   *  @param isProven  whether Temporal is known to take events */
  const separately = async (isProven: () => boolean) => {
    const separate = openPostgres(await postgres.createDatabase(), pino({ level: 'silent' }))
    await migrate(separate)
    const { temporal } = node.app
    const starts = createParcelStarts({
      database: separate,
      start: (parcel) => startParcel(temporal, parcel),
      knownDeliveries: (of) => knownWorkflows(temporal, of),
      isRunning: (id) => isRunning(temporal, id),
      load: createParcelLoad(),
      onMade: () => undefined,
      onRoom: () => undefined,
      isProven,
      giveWay: () => Promise.resolve(0),
      isOpen: () => true,
      retry: separateRetry,
      count: () => undefined,
      logger: pino({ level: 'silent' }),
    })
    return { separate, starts }
  }

  it.concurrent('shows its events as failed when Temporal refuses it for good', async ({ expect }) => {
    const { separate, starts } = await separately(() => true)
    const target = { destinationId: 'dst_huge', endpointIds: ['ep_huge'], successPolicy: 'any' as const }
    const message = { type: 'track' as const, messageId: 'huge', timestamp: '', event: 'x'.repeat(3_000_000) }
    const input = { sourceId: 'src_huge', messageId: 'huge', message, targets: [target], retry: separateRetry }
    await addToInbox(separate, [{ receivedAt: new Date(), input }])
    const [huge] = await turnsInInbox(separate, '', 1)
    expect(await starts.move([huge?.id ?? ''])).toEqual(new Map([[huge?.id, 1]]))
    const failed = await until('it stands failed', async () => {
      const [row] = await separate.query<{ status: string; reason: string }>(
        `select status, reason from parcel_events where status <> 'delivering'`,
      )
      return row
    })
    expect(failed).toEqual({ status: 'failed', reason: expect.stringContaining('Temporal refuses it') as string })
    await starts.stop()
    await separate.close()
  })

  it.concurrent(
    'lets a source that comes beside a flood go first, and keeps the others in their order',
    async ({ expect }) => {
      let isProven = true
      const { separate, starts } = await separately(() => isProven)
      const eventsOf = (sourceId: string, count: number, from = 0): NewInboxEvent[] =>
        Array.from({ length: count }, (_, n) => {
          const messageId = `${sourceId}-${from + n}`
          const message = { type: 'track' as const, messageId, timestamp: '', event: 'Beside' }
          const targets = [{ destinationId: 'dst_none', endpointIds: ['ep_none'], successPolicy: 'any' as const }]
          return { receivedAt: new Date(), input: { sourceId, messageId, message, targets, retry: separateRetry } }
        })
      const turns = createInboxTurns(separate, () => 'open')
      const inbox = createInboxWriter({
        database: separate,
        inboxMax: 1_000,
        turns,
        draftKeys: () => ({ keys: [], note: () => undefined }),
        onWritten: () => undefined,
        parcels: starts,
      })
      const sourcesIn = async (table: 'inbox' | 'parcel_events') =>
        (
          await separate.query<{ source_id: string; count: number }>(
            `select source_id, count(*)::int as count from ${table} group by 1 order by 1`,
          )
        ).map(({ source_id, count }) => [source_id, count])
      const [flood, beside, later] = ['flood', 'beside', 'later'].map((name) => `src_${name}_${randomUUID()}`)
      if (flood === undefined || beside === undefined || later === undefined) throw new Error('no names')

      await addToInbox(separate, eventsOf(flood, 300))
      await turns.next()
      await Promise.all([inbox.write(eventsOf(flood, 5, 300)), inbox.write(eventsOf(beside, 20))])
      expect(await sourcesIn('inbox')).toEqual([[flood, 305]])
      expect(await sourcesIn('parcel_events')).toEqual([[beside, 20]])
      const [parcel] = await separate.query<{ id: string }>('select id from parcels')
      const handle = node.app.temporal.client.workflow.getHandle<typeof deliverParcel>(parcel?.id ?? '')
      const result = await until('Temporal has it', () => handle.result().catch(() => undefined))
      expect(result.counts).toEqual({ discarded: 20 })

      // Nobody knows whether Temporal would take it.
      isProven = false
      await inbox.write(eventsOf(later, 2))
      isProven = true
      // What waits of a source is not overtaken by what comes after it, although no drainer has seen it yet.
      await inbox.write(eventsOf(later, 3, 2))
      expect(await sourcesIn('inbox')).toEqual([
        [flood, 305],
        [later, 5],
      ])
      await starts.stop()
      await separate.close()
    },
  )
})
