/** What is told of deliveries, compared with what receivers got: a result for each destination, each attempt once. */

import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, it, type ExpectStatic } from 'vitest'
import type { BulkSteering, Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination, DestinationView } from '../../src/schemas/destination.ts'
import type { Overview } from '../../src/schemas/overview.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { expectToldAsReceived, toldByUrl } from '../support/told.ts'
import { until } from '../support/wait.ts'

const limit = 240_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const path = (id: string, action = ''): string => `/deliveries/${encodeURIComponent(id)}${action}`
const read = async (id: string): Promise<DeliveryDetail> => (await node.api<DeliveryDetail>('GET', path(id))).body
const untilTold = (what: string, id: string, isTold: (detail: DeliveryDetail) => boolean): Promise<DeliveryDetail> =>
  until(what, async () => {
    const detail = await read(id)
    return detail.timeline !== undefined && isTold(detail) && detail
  })
const untilStatus = (id: string, status: string) => untilTold(`${id} is ${status}`, id, (one) => one.status === status)
const change = (destination: Destination, settings: object) =>
  node.api('PATCH', `/destinations/${destination.id}`, settings)
const count = async (query: string): Promise<number> =>
  (await node.api<{ count: number }>('GET', `/deliveries/count?${query}`)).body.count
const untilCount = (query: string, expected: number) =>
  until(`${expected} of ${query}`, async () => (await count(query)) === expected)

/** The workflow of a delivery. */
const handleOf = (id: string) => {
  const { client, names } = node.app.temporal
  return client.workflow.getHandle(names.workflowId(id))
}

/** The list has each request of the only event of a receiver. */
function expectSame(expect: ExpectStatic, { timeline, attempts }: DeliveryDetail, { requests }: Receiver): void {
  expect(timeline.length).toBe(requests.length)
  expect(attempts).toBe(requests.length)
}

async function track(source: Source): Promise<string> {
  const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event: 'Order Completed' })
  return `event/${source.id}/${(body.accepted as string[])[0]}`
}

describe.concurrent('a delivery with several destinations', () => {
  it('is partly delivered where some were switched off', { timeout: limit }, async ({ expect }) => {
    await using good = await startReceiver()
    await using ill = await startReceiver()
    await using poor = await startReceiver()
    ill.answer({ status: 503 })
    poor.answer({ status: 503 })
    const source = await node.createSource()
    const taken = await node.connect([source], [good.url])
    const given = [await node.connect([source], [ill.url]), await node.connect([source], [poor.url])]
    const id = await track(source)
    await untilTold('all have their attempts', id, (one) => one.timeline.length > 4)
    await untilCount(`sourceId=${source.id}&status=retrying`, 1)
    for (const [index, destination] of given.entries()) {
      await change(destination, { enabled: false })
      if (index === 0)
        await untilTold(
          'the first is given up while the other one is tried on',
          id,
          ({ destinations }) => destinations.map(({ status }) => status).join() === 'delivered,discarded,retrying',
        )
    }
    const detail = await untilStatus(id, 'partly_delivered')
    expect(detail.destinations).toMatchObject([
      {
        destinationId: taken.id,
        status: 'delivered',
        endpoints: [{ url: good.url, status: 'delivered', attempts: 1 }],
      },
      ...given.map(({ id: destinationId }) => ({
        destinationId,
        status: 'discarded',
        endpoints: [{ status: 'discarded', reason: expect.stringContaining('switched off') as string }],
      })),
    ])
    expect(detail.reason).toContain('switched off')
    expectToldAsReceived(detail, { [good.url]: good, [ill.url]: ill, [poor.url]: poor })

    const ofSource = `sourceId=${source.id}`
    await untilCount(`${ofSource}&status=partly_delivered`, 1)
    for (const status of ['delivered', 'failed', 'discarded']) await untilCount(`${ofSource}&status=${status}`, 0)
    const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?${ofSource}&status=partly_delivered`)
    expect(body.items).toMatchObject([{ id, status: 'partly_delivered', attempts: detail.timeline.length }])
    const { funnel } = (await node.api<Overview>('GET', `/overview?${ofSource}`)).body
    expect(funnel).toMatchObject({ delivered: 0, partly_delivered: 1, failed: 0, discarded: 0, retrying: 0 })
    const filter = { sourceId: source.id, status: 'partly_delivered' }
    const bulk = await node.api<BulkSteering>('POST', '/deliveries/redeliver', filter)
    expect(bulk.body.matched).toBe(1)
    await untilStatus(`${id}/redelivery/1`, 'delivered')
  })

  it('waits for no reason of a destination that took it', { timeout: limit }, async ({ expect }) => {
    await using good = await startReceiver()
    await using slow = await startReceiver()
    await using held = await startReceiver()
    slow.answerInTurn({ status: 503 }, 'hang')
    // It takes the event while the other one hangs.
    good.answer(() => ({ status: slow.requests.length < 2 ? 503 : 200 }))
    const source = await node.createSource()
    await node.connect([source], [good.url, slow.url], { options: { timeoutSeconds: 30 } })
    await change(await node.connect([source], [held.url]), { paused: true })
    const id = await track(source)
    const detail = await untilTold(
      'one took it',
      id,
      ({ timeline, destinations }) =>
        destinations[0]?.status === 'delivered' && timeline.length === good.requests.length + slow.requests.length,
    )
    expect(detail.status).toBe('held')
    expect(detail.reason).toBe(null)
    const stopped = detail.timeline.findLast(({ url }) => url === slow.url)
    expect(stopped?.error).toBe(
      'the attempt was stopped in the middle: another endpoint took the event, or the delivery was ended',
    )
    expectToldAsReceived(detail, { [good.url]: good, [slow.url]: slow })
    await until('the list has no reason either', async () => {
      const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}`)
      return body.items[0]?.status === 'held' && body.items[0].reason === null
    })
  })

  it(
    'waits for the reason of what is tried again, not of what was final elsewhere',
    { timeout: limit },
    async ({ expect }) => {
      await using busy = await startReceiver()
      await using moved = await startReceiver()
      busy.answer({ status: 429, headers: { 'retry-after': '60' } })
      moved.answer({ status: 404, delayMs: 500 })
      const source = await node.createSource()
      const waiting = await node.connect([source], [busy.url])
      await node.connect([source], [moved.url])
      const id = await track(source)
      const detail = await untilTold('one is final', id, ({ destinations }) => destinations[1]?.status === 'failed')
      expect(detail).toMatchObject({ status: 'retrying', reason: expect.stringContaining('429') as string })
      await until('the list says so, too', async () => {
        const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}`)
        return body.items[0]?.reason === detail.reason
      })
      await change(waiting, { paused: true })
      const held = await untilTold('it is held', id, ({ status }) => status === 'held')
      expect(held.reason).not.toContain('404')
    },
  )

  it('waits for no endpoint that is down no longer', { timeout: limit }, async ({ expect }) => {
    await using back = await startReceiver()
    await using held = await startReceiver()
    back.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [back.url])
    await change(await node.connect([source], [held.url]), { paused: true })
    // One alone closes no endpoint.
    for (let events = 0; events < 25; events++) await track(source)
    const id = await until('one is kept away', async () => {
      const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}`)
      // What waits in the inbox has no workflow.
      const workflows = await Promise.allSettled(body.items.map(({ id }) => handleOf(id).describe()))
      const isKeptAway = (workflow: (typeof workflows)[number]): boolean =>
        workflow.status === 'fulfilled' && /endpoint is down/.test(String(workflow.value.memo?.['reason']))
      return body.items[workflows.findIndex(isKeptAway)]?.id
    })
    back.answer({})
    const detail = await untilTold('it was taken', id, ({ destinations }) => destinations[0]?.status === 'delivered')
    expect(detail).toMatchObject({ status: 'held', reason: null })
  })

  it('is partly delivered where one refused it, and red in Temporal', { timeout: limit }, async ({ expect }) => {
    await using good = await startReceiver()
    await using bad = await startReceiver()
    bad.answer({ status: 404, body: 'nothing here' })
    const source = await node.createSource()
    for (const url of [good.url, bad.url]) await node.connect([source], [url])
    const id = await track(source)
    const detail = await untilStatus(id, 'partly_delivered')
    expect(detail.destinations.map(({ status }) => status)).toEqual(['delivered', 'failed'])
    expect(detail.reason).toContain('404')
    expectToldAsReceived(detail, { [good.url]: good, [bad.url]: bad })
    const { status } = await handleOf(id).describe()
    expect(status.name).toBe('FAILED')
    await untilCount(`sourceId=${source.id}&status=partly_delivered`, 1)
    await untilCount(`sourceId=${source.id}&status=failed`, 0)
    const { funnel } = (await node.api<Overview>('GET', `/overview?sourceId=${source.id}`)).body
    expect(funnel).toMatchObject({ delivered: 0, partly_delivered: 1, failed: 0 })
  })

  it('is delivered again where it has failed, while a paused one holds it', { timeout: limit }, async ({ expect }) => {
    await using refusing = await startReceiver()
    await using held = await startReceiver()
    refusing.answer({ status: 404 })
    const source = await node.createSource()
    const failed = await node.connect([source], [refusing.url])
    const paused = await node.connect([source], [held.url])
    await change(paused, { paused: true })
    const id = await track(source)
    const isTold = (...expected: string[]) =>
      untilTold(`it is ${expected.join(' and ')}`, id, ({ destinations }) =>
        isDeepStrictEqual(
          [failed, paused].map((at) => destinations.find(({ destinationId }) => destinationId === at.id)?.status),
          expected,
        ),
      )
    await isTold('failed', 'held')

    refusing.answer({ status: 200 })
    const redeliver = (body: object) => node.api<{ id: string }>('POST', path(id, '/redeliver'), body)
    for (const body of [{}, { only: { destinationId: paused.id } }])
      expect(await redeliver(body)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    const { status, body } = await redeliver({ only: { destinationId: failed.id } })
    expect(status).toBe(200)
    await untilStatus(body.id, 'delivered')
    expect(refusing.requests).toHaveLength(2)
    expect(held.requests).toEqual([])

    await change(paused, { paused: false })
    await isTold('failed', 'delivered')
    expect(refusing.requests).toHaveLength(2)
    expect(held.requests).toHaveLength(1)
  })

  it(
    'is retried, not held, where only a destination that took it is paused',
    { timeout: limit },
    async ({ expect }) => {
      await using good = await startReceiver()
      await using ill = await startReceiver()
      ill.answer({ status: 503 })
      const source = await node.createSource()
      const taken = await node.connect([source], [good.url])
      await node.connect([source], [ill.url])
      const id = await track(source)
      await untilTold('one took it and the other one failed twice', id, (one) => one.timeline.length > 2)
      await untilCount(`destinationId=${taken.id}&status=delivered`, 1)
      await change(taken, { paused: true })

      const ofSource = `sourceId=${source.id}`
      const { status, destinations } = await read(id)
      expect([status, ...destinations.map((one) => one.status)]).toEqual(['retrying', 'delivered', 'retrying'])
      for (const [wanted, expected] of Object.entries({ retrying: 1, held: 0 })) {
        await untilCount(`${ofSource}&status=${wanted}`, expected)
        const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?${ofSource}&status=${wanted}`)
        expect(body.items.map((one) => one.status)).toEqual(expected === 1 ? [wanted] : [])
      }
      const { funnel } = (await node.api<Overview>('GET', `/overview?${ofSource}`)).body
      expect(funnel).toMatchObject({ retrying: 1, held: 0 })
    },
  )
})

const results = ['delivering', 'retrying', 'held', 'delivered', 'failed', 'discarded', 'cancelled']

/** What is told of a destination: the counts, those of the overview, and what is listed. */
async function countsAt(destinationId: string): Promise<Record<string, number>> {
  const of = `destinationId=${destinationId}`
  const { funnel } = (await node.api<Overview>('GET', `/overview?${of}`)).body
  const told: Record<string, number> = {}
  for (const status of results) {
    const counted = await count(`${of}&status=${status}`)
    const { items } = (await node.api<{ items: Delivery[] }>('GET', `/deliveries?${of}&status=${status}&limit=200`))
      .body
    const all = [counted, funnel[status as keyof typeof funnel], items.length]
    // They are read one after the other: what changes meanwhile differs.
    if (new Set(all).size > 1) told[status] = NaN
    else if (counted > 0) told[status] = counted
  }
  return told
}
const untilCounts = (destinationId: string, expected: Record<string, number>) =>
  until(
    `${destinationId} has ${JSON.stringify(expected)}`,
    async () => isDeepStrictEqual(await countsAt(destinationId), expected),
    limit,
  )

describe.concurrent('a destination', () => {
  it('is counted and listed by what it got itself', { timeout: limit }, async ({ expect }) => {
    await using good = await startReceiver()
    await using bad = await startReceiver()
    await using ill = await startReceiver()
    bad.answer({ status: 404 })
    ill.answer({ status: 503 })
    const source = await node.createSource()
    const [taken, refused, retried] = [
      await node.connect([source], [good.url]),
      await node.connect([source], [bad.url]),
      await node.connect([source], [ill.url]),
    ]
    const first = await track(source)
    await untilTold('it is tried again', first, (one) => one.attempts !== null && one.attempts > 3)
    await untilCounts(taken.id, { delivered: 1 })
    await untilCounts(refused.id, { failed: 1 })
    await untilCounts(retried.id, { retrying: 1 })
    await change(retried, { paused: true })
    await untilCounts(retried.id, { held: 1 })
    await untilCounts(taken.id, { delivered: 1 })
    ill.answer({})
    await change(retried, { paused: false })
    await untilStatus(first, 'partly_delivered')
    ill.answer({ status: 503 })
    const second = await track(source)
    await untilTold('it is tried again', second, (one) => one.attempts !== null && one.attempts > 3)
    expect((await node.api('POST', path(second, '/cancel'), {})).status).toBe(200)
    await untilStatus(second, 'cancelled')
    await untilCounts(taken.id, { delivered: 2 })
    await untilCounts(refused.id, { failed: 2 })
    await untilCounts(retried.id, { delivered: 1, cancelled: 1 })
    expect(good.requests.length).toBe(2)
    const filter = { destinationId: refused.id, status: 'failed' }
    expect((await node.api<BulkSteering>('POST', '/deliveries/redeliver', filter)).body.matched).toBe(2)
  })

  it('is counted by what it got itself of events in parcels', { timeout: limit }, async () => {
    await using good = await startReceiver()
    await using bad = await startReceiver()
    bad.answer({ status: 404 })
    const source = await node.createSource()
    const taken = await node.connect([source], [good.url])
    const refused = await node.connect([source], [bad.url])
    const events = 180
    const batch = Array.from({ length: events }, (_, n) => ({
      type: 'track',
      userId: 'u1',
      event: 'Many',
      messageId: `m-${n}`,
    }))
    await node.post('/batch', source.writeKey, { batch })
    await untilCounts(taken.id, { delivered: events })
    await untilCounts(refused.id, { failed: events })
    await untilCount(`sourceId=${source.id}&status=partly_delivered`, events)
  })
})

describe.concurrent('the name of an event', () => {
  it('is told in full, also that of a page', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const long = 'Order '.repeat(60)
    for (const [call, body, name] of [
      ['/track', { event: long }, long],
      ['/page', { name: 'Check-out' }, 'Check-out'],
    ] as const) {
      const { body: answer } = await node.post(call, source.writeKey, { userId: 'u1', ...body })
      const id = `event/${source.id}/${(answer.accepted as string[])[0]}`
      expect((await untilStatus(id, 'delivered')).event).toBe(name)
    }
  })
})

describe.concurrent('attempts', () => {
  it('keep the URL that they went to', { timeout: limit }, async ({ expect }) => {
    await using old = await startReceiver()
    await using mended = await startReceiver()
    old.answer({ status: 503 })
    const source = await node.createSource()
    const destination = await node.connect([source], [`${old.url}/wrong`])
    const id = await track(source)
    await untilTold('three attempts', id, ({ timeline }) => timeline.length >= 3)
    const [webhook] = destination.settings.webhooks
    await change(destination, { settings: { webhooks: [{ id: webhook?.id, url: `${mended.url}/right` }] } })
    const detail = await untilStatus(id, 'delivered')
    const receivers = { [`${old.url}/wrong`]: old, [`${mended.url}/right`]: mended }
    expectToldAsReceived(detail, receivers)
    expect(detail.destinations[0]?.endpoints[0]?.url).toBe(`${mended.url}/right`)
    expect(detail.reason).toBeNull()
    await node.api('DELETE', `/destinations/${destination.id}`)
    expect(toldByUrl(await read(id))).toEqual(toldByUrl(detail))
  })

  it('are all told of a delivery that is cancelled between two of them', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url, `${receiver.url}/second`])
    const id = await track(source)
    await untilTold('eight attempts', id, ({ timeline }) => timeline.length >= 8)
    await node.api('POST', path(id, '/cancel'), { why: 'by mistake' })
    const detail = await untilStatus(id, 'cancelled')
    expectSame(expect, detail, receiver)
    expect(detail).toMatchObject({ pending: [], nextAttemptAt: null, destinations: [{ status: 'cancelled' }] })
  })

  it('are all told of a delivery that is cancelled in the middle of one', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 503 }, { status: 503 }, { status: 503 }, 'hang')
    const source = await node.createSource()
    const { id: destinationId } = await node.connect([source], [receiver.url])
    const id = await track(source)
    await receiver.received(4)
    await node.api('POST', path(id, '/cancel'))
    expectSame(expect, await untilStatus(id, 'cancelled'), receiver)
    await until('the figures of the destination have them, too', async () => {
      const { body } = await node.api<Overview>('GET', `/overview?destinationId=${destinationId}`)
      return body.series.reduce((all, { failed }) => all + failed, 0) === 4
    })
    const { body } = await node.api<DestinationView>('GET', `/destinations/${destinationId}`)
    expect(body.endpoints[0]?.reason).toContain('503')
  })

  it('are all told of a delivery whose workflow is terminated in Temporal', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url, `${receiver.url}/second`])
    const id = await track(source)
    await untilTold('eight attempts', id, ({ timeline }) => timeline.length >= 8)
    await handleOf(id).terminate('by mistake')
    // One that was under way then is told when it ends.
    const detail = await untilTold(
      'all are told',
      id,
      ({ status, timeline }) => status === 'cancelled' && timeline.length === receiver.requests.length,
    )
    expectSame(expect, detail, receiver)
    expect(detail).toMatchObject({ pending: [], nextAttemptAt: null, destinations: [{ status: 'cancelled' }] })
  })

  it('are told once, however often they are made by hand', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    await using ill = await startReceiver()
    receiver.answer({ status: 503 })
    ill.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await node.connect([source], [ill.url])
    const id = await track(source)
    await untilTold('both are tried on', id, ({ timeline }) => timeline.length >= 6)
    for (let round = 0; round < 3; round++) {
      const before = receiver.requests.length
      await Promise.all(Array.from({ length: 4 }, () => node.api('POST', path(id, '/retry'))))
      await receiver.received(before + 4)
      const { pending } = await read(id)
      expect(new Set(pending.map(({ endpointId }) => endpointId)).size).toBe(pending.length)
    }
    receiver.answer({ status: 200, delayMs: 300 })
    await Promise.all(Array.from({ length: 4 }, () => node.api('POST', path(id, '/retry'))))
    const taken = await untilTold('one took it', id, ({ destinations }) => destinations[0]?.status === 'delivered')
    expect(taken.destinations[1]?.status).toBe('retrying')
    ill.answer({ status: 200 })
    const detail = await untilStatus(id, 'delivered')
    expectToldAsReceived(detail, { [receiver.url]: receiver, [ill.url]: ill })
    expect(detail.reason).toBeNull()
  })

  it(
    'are all told of a destination that is switched off in the middle of one',
    { timeout: limit },
    async ({ expect }) => {
      await using receiver = await startReceiver()
      await using good = await startReceiver()
      receiver.answerInTurn({ status: 503 }, { status: 503 }, { status: 503 }, 'hang')
      const source = await node.createSource()
      const destination = await node.connect([source], [receiver.url])
      await node.connect([source], [good.url])
      const id = await track(source)
      await receiver.received(4)
      await untilCount(`sourceId=${source.id}&status=retrying`, 1)
      await change(destination, { enabled: false })
      const detail = await untilStatus(id, 'partly_delivered')
      expectToldAsReceived(detail, { [receiver.url]: receiver, [good.url]: good })
      expect(detail.attempts).toBe(5)
    },
  )
})
