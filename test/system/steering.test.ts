import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { taskQueue } from '../../src/contracts/names.ts'
import { steeringWorkflowId } from '../../src/contracts/steering.ts'
import type { BulkSteering, Delivery, DeliveryDetail, Steerable } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Overview } from '../../src/schemas/overview.ts'
import type { Source } from '../../src/schemas/source.ts'
import { deliveryQuery } from '../../src/temporal/delivery-query.ts'
import type { steerDeliveries } from '../../workflows/steer-deliveries.ts'
import { apiOf, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { deliver } from './deliveries.ts'

let node: TestApp
beforeAll(async () => {
  // A pause between attempts that no test waits for.
  node = await startTestApp({
    environment: { POSTRIDER_RETRY_INITIAL: '10m', POSTRIDER_RETRY_MAX: '10m', POSTRIDER_RETRY_WINDOW: '4h' },
  })
})
afterAll(() => node[Symbol.asyncDispose]())

const path = (id: string, action = ''): string => `/deliveries/${encodeURIComponent(id)}${action}`

async function read(id: string): Promise<DeliveryDetail> {
  const { status, body } = await node.api<DeliveryDetail>('GET', path(id))
  expect(status).toBe(200)
  return body
}

const untilStatus = (id: string, status: string): Promise<DeliveryDetail> =>
  until(`${id} is ${status}`, async () => {
    const { status: code, body } = await node.api<DeliveryDetail>('GET', path(id))
    return code === 200 && body.status === status && body
  })

/** The workflow of a delivery. */
const handleOf = (id: string) => {
  const { client, names } = node.app.temporal
  return client.workflow.getHandle(names.workflowId(id))
}

/** Posts a track call and answers the delivery's id. */
async function track(source: Source, userId = 'u1'): Promise<string> {
  const { status, body } = await node.post('/track', source.writeKey, { userId, event: 'Order Completed' })
  expect(status).toBe(200)
  return `event/${source.id}/${(body.accepted as string[])[0]}`
}

describe('one delivery', () => {
  it('is shown with every attempt, its body and the next attempt, and woken by hand', async () => {
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 503, body: 'down for a while' }, { status: 500 }, { status: 200 })
    const source = await node.createSource()
    const headers = { 'X-Team': 'growth' }
    await node.connect([source], [receiver.url], { sharedSecret: 'a secret', headers })
    const id = await track(source)

    const waiting = await untilStatus(id, 'retrying')
    expect(waiting).toMatchObject({ attempts: 1, message: { type: 'track', event: 'Order Completed' } })
    expect(waiting.timeline).toMatchObject([{ status: 503, excerpt: 'down for a while' }])
    expect(Date.parse(waiting.nextAttemptAt ?? '')).toBeGreaterThan(Date.now() + 60_000)

    const [sent] = receiver.requests
    expect(waiting.body).toBe(sent?.body.toString())
    const [request] = waiting.requests
    expect(request).toMatchObject({ url: receiver.url, headers })
    for (const [name, value] of Object.entries(request?.headers ?? {}))
      expect(sent?.headers[name.toLowerCase()], name).toBe(value)
    expect(request?.headers).toHaveProperty('webhook-signature')
    const { body: viewer } = await node.api<{ token: string }>('POST', '/tokens', { name: 'Viewer', role: 'viewer' })
    const { body: seen } = await apiOf(node.url, viewer.token).api<DeliveryDetail>('GET', path(id))
    // With body and signature a viewer could post the request themselves.
    const masked = { 'X-Team': '********', 'X-Signature': '********', 'webhook-signature': '********' }
    expect(seen.requests).toEqual([{ ...request, headers: { ...request?.headers, ...masked } }])

    expect(await node.api('POST', path(id, '/retry'), { why: 'the receiver is back' })).toMatchObject({ status: 200 })
    const twice = await until('two attempts', async () => {
      const detail = await read(id)
      return detail.timeline.length >= 2 && detail
    })
    expect(twice.steering).toMatchObject([{ action: 'retry', by: 'admin', why: 'the receiver is back' }])

    await until('woken again', async () => {
      if (receiver.requests.length < 3) await node.api('POST', path(id, '/retry'))
      return (await read(id)).status === 'delivered'
    })
    const done = await read(id)
    expect(done.timeline.map(({ status }) => status)).toEqual([503, 500, 200])
    expect(done).toMatchObject({ status: 'delivered', attempts: 3, nextAttemptAt: null, pending: [] })
  })

  it('keeps an attempt ordered by hand that runs when another one is refused for good', async () => {
    await using receiver = await startReceiver()
    // The third is under way while the order comes, which waits for it: the fourth is sent as the delivery ends.
    receiver.answerInTurn({ status: 503 }, { status: 503 }, { status: 404, delayMs: 10_000 }, 'hang')
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url], { options: { timeoutSeconds: 30 } })
    const retry = { initialMs: 200, maxMs: 200 }
    await deliver(node.app.temporal, source, [destination], { messageId: 'beside', retry })
    const id = `event/${source.id}/beside`
    await receiver.received(3)
    expect(await node.api('POST', path(id, '/retry'))).toMatchObject({ status: 200 })

    const ended = await untilStatus(id, 'failed')
    expect(ended.timeline.map(({ status }) => status)).toEqual([503, 503, 404, null])
    expect(ended.attempts).toBe(receiver.requests.length)
  })

  it('is cancelled with who and why, and can be delivered again', async () => {
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 503 }, { status: 200 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const id = await track(source)
    await untilStatus(id, 'retrying')

    expect(await node.api('POST', path(id, '/redeliver'))).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(await node.api('POST', path(id, '/cancel'), { why: 'sent by mistake' })).toMatchObject({ status: 200 })
    const cancelled = await untilStatus(id, 'cancelled')
    expect(cancelled.steering).toMatchObject([{ action: 'cancel', by: 'admin', why: 'sent by mistake' }])
    expect(await node.api('POST', path(id, '/cancel'))).toMatchObject({ status: 409, body: { code: 'conflict' } })

    const { status, body } = await node.api<{ id: string }>('POST', path(id, '/redeliver'), { why: 'not a mistake' })
    expect({ status, body }).toEqual({ status: 200, body: { id: `${id}/redelivery/1` } })
    const repeated = await untilStatus(body.id, 'delivered')
    expect(repeated.steering).toMatchObject([{ action: 'redeliver', why: 'not a mistake' }])
    const [first, second] = await receiver.received(2)
    expect(second?.body).toEqual(first?.body)
    const again = await node.api<{ id: string }>('POST', path(body.id, '/redeliver'))
    expect(again.body.id).toBe(`${id}/redelivery/2`)
  })

  it('is delivered again to one destination, or one endpoint, of several', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const crm = await node.connect([source], [`${receiver.url}/crm`])
    const shop = await node.connect([source], [`${receiver.url}/shop-1`, `${receiver.url}/shop-2`])
    const id = await track(source)
    await untilStatus(id, 'delivered')
    await receiver.received(3)
    const redeliver = async (only?: object, of = id) => {
      const before = receiver.requests.length
      const { status, body } = await node.api<{ id: string }>('POST', path(of, '/redeliver'), { why: 'lost', only })
      expect(status).toBe(200)
      const repeated = await untilStatus(body.id, 'delivered')
      return { repeated, paths: receiver.requests.slice(before).map((request) => request.path) }
    }
    const toCrm = await redeliver({ destinationId: crm.id })
    expect(toCrm.paths).toEqual(['/crm'])
    expect(toCrm.repeated).toMatchObject({ destinationIds: [crm.id], attempts: 1, steering: [{ why: 'lost' }] })
    const [, second] = shop.settings.webhooks
    const toSecond = await redeliver({ endpointId: second?.id })
    expect(toSecond.paths).toEqual(['/shop-2'])
    // What was chosen once stays chosen where nothing else is.
    expect((await redeliver(undefined, toSecond.repeated.id)).paths).toEqual(['/shop-2'])
    expect((await redeliver({ destinationId: shop.id }, toSecond.repeated.id)).paths.sort()).toEqual([
      '/shop-1',
      '/shop-2',
    ])
    expect((await redeliver({ destinationId: shop.id })).paths.sort()).toEqual(['/shop-1', '/shop-2'])

    for (const [only, at] of [
      [{ destinationId: 'dst_none' }, 'only.destinationId'],
      [{ destinationId: crm.id, endpointId: second?.id }, 'only.endpointId'],
      [{}, 'only'],
    ] as const)
      expect(await node.api('POST', path(id, '/redeliver'), { only })).toMatchObject({
        status: 400,
        body: { code: 'bad_request', path: at },
      })
    expect(await node.api('POST', path(id, '/cancel'), { only: {} })).toMatchObject({ status: 400 })
  })

  it('is unknown under any other id, of up to 400 characters', async () => {
    for (const id of ['event/src_none/none', 'x'.repeat(400)])
      for (const action of ['', '/retry', '/cancel', '/redeliver'])
        expect(await node.api(action === '' ? 'GET' : 'POST', path(id, action))).toMatchObject({
          status: 404,
          body: { success: false, code: 'not_found', message: expect.stringContaining('has the id') as string },
        })
  })
})

describe('the list of deliveries', () => {
  it('is filtered by each member, paged, and counted', async () => {
    await using good = await startReceiver()
    await using bad = await startReceiver()
    bad.answer({ status: 404, body: 'nothing here' })
    const [delivering, failing] = [await node.createSource(), await node.createSource()]
    await node.connect([delivering], [good.url])
    const destination = await node.connect([failing], [bad.url])
    const ids: string[] = []
    for (const userId of ["o'brien\\", 'u2', 'u3']) {
      ids.push(await track(delivering, userId))
      await untilStatus(ids.at(-1) ?? '', 'delivered')
    }
    const failed = await track(failing)
    await untilStatus(failed, 'failed')

    const list = async (query: string): Promise<Delivery[]> => {
      const { status, body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?${query}`)
      expect(status).toBe(200)
      return body.items
    }
    const listed = (query: string, expected: string[]) =>
      until(query, async () => {
        const found = (await list(query)).map(({ id }) => id)
        return found.sort().join() === [...expected].sort().join()
      })
    await listed(`sourceId=${delivering.id}`, ids)
    await listed(`sourceId=${delivering.id}&userId=${encodeURIComponent("o'brien\\")}`, ids.slice(0, 1))
    await listed(`messageId=${ids[1]?.split('/')[2]}`, ids.slice(1, 2))
    await listed(`destinationId=${destination.id}&status=failed&type=track`, [failed])
    await listed(`sourceId=${delivering.id}&status=failed`, [])
    await listed(`sourceId=${delivering.id}&since=${new Date(Date.now() + 60_000).toISOString()}`, [])
    const [row] = await list(`destinationId=${destination.id}`)
    expect(row).toMatchObject({ status: 'failed', attempts: 1, event: 'Order Completed' })
    expect(row?.reason).toContain('404')
    const [plain] = await list(`messageId=${ids[1]?.split('/')[2]}`)
    expect(plain).toMatchObject({ status: 'delivered', attempts: 1, reason: null, nextAttemptAt: null })

    const first = await node.api<{ items: Delivery[]; nextCursor: string }>(
      'GET',
      `/deliveries?sourceId=${delivering.id}&limit=2`,
    )
    const second = await node.api<{ items: Delivery[]; nextCursor: string | null }>(
      'GET',
      `/deliveries?sourceId=${delivering.id}&limit=2&cursor=${first.body.nextCursor}`,
    )
    expect([...first.body.items, ...second.body.items].map(({ id }) => id)).toEqual([...ids].reverse())
    expect(second.body.nextCursor).toBeNull()
    const count = await node.api('GET', `/deliveries/count?sourceId=${delivering.id}`)
    expect(count.body).toEqual({ count: 3 })
  })

  // Before any destination is paused: its deliveries are looked for in the background when it is resumed.
  it('costs as many calls of Temporal, however many rows it has', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    for (let event = 0; event < 12; event++) await track(source)
    await receiver.received(12)
    const { workflowService } = node.app.temporal.client
    const calls = (['listWorkflowExecutions', 'countWorkflowExecutions', 'describeWorkflowExecution'] as const).map(
      (name) => vi.spyOn(workflowService, name),
    )
    const callsOnce = async (path: string): Promise<number> => {
      for (const one of calls) one.mockClear()
      expect((await node.api('GET', path)).status).toBe(200)
      return calls.reduce((total, { mock }) => total + mock.calls.length, 0)
    }
    // The node asks by itself now and then, too, which adds to a reading: the least of some is the request's own.
    const callsFor = async (path: string): Promise<number> =>
      Math.min(await callsOnce(path), await callsOnce(path), await callsOnce(path))
    try {
      const of = `sourceId=${source.id}`
      expect(await callsFor(`/deliveries?${of}`)).toBe(1)
      expect(await callsFor(`/deliveries?destinationId=${destination.id}`)).toBe(3)
      expect(await callsFor(`/deliveries?destinationId=${destination.id}&status=delivered`)).toBe(5)
      expect(await callsFor(`/deliveries/count?${of}`)).toBe(1)
      expect(await callsFor(`/overview?${of}`)).toBeLessThanOrEqual(6)
      expect(await callsFor(`/overview?destinationId=${destination.id}`)).toBeLessThanOrEqual(9)
    } finally {
      for (const one of calls) one.mockRestore()
    }
  })

  it('has a delivery under each of its destinations, however many, and knows which of them holds it', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const [one, two, four] = [await node.createSource(), await node.createSource(), await node.createSource()]
    const destinations: Destination[] = []
    for (const sources of [[one, two, four], [two, four], [four], [four]])
      destinations.push(await node.connect(sources, [receiver.url]))
    const ids: string[] = []
    for (const source of [one, two, four]) {
      ids.push(await track(source))
      await untilStatus(ids.at(-1) ?? '', 'retrying')
    }
    const [first, second, third] = ids as [string, string, string]
    const [a, b, c, d] = destinations as [Destination, Destination, Destination, Destination]
    const listed = (query: string, expected: string[]) =>
      until(query, async () => {
        const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?${query}`)
        const counted = await node.api<{ count: number }>('GET', `/deliveries/count?${query}`)
        return body.items.map(({ id }) => id).join() === expected.join() && counted.body.count === expected.length
      })
    for (const status of ['', '&status=retrying']) {
      await listed(`destinationId=${a.id}${status}`, [third, second, first])
      await listed(`destinationId=${b.id}${status}`, [third, second])
      await listed(`destinationId=${d.id}${status}`, [third])
    }
    for (const [id, expected] of [
      [first, [a]],
      [second, [a, b]],
      [third, [a, b, c, d]],
    ] as const)
      expect((await read(id)).destinationIds.toSorted()).toEqual(expected.map((one) => one.id).toSorted())

    await node.api('PATCH', `/destinations/${c.id}`, { paused: true })
    await listed(`destinationId=${a.id}&status=held`, [third])
    await listed(`destinationId=${a.id}&status=retrying`, [second, first])
    await listed(`status=held&type=track&messageId=${third.split('/')[2]}`, [third])
    const overview = (await node.api<Overview>('GET', `/overview?destinationId=${a.id}`)).body
    expect(overview.funnel).toMatchObject({ held: 1, retrying: 2, delivering: 0, delivered: 0, failed: 0 })

    const { body } = await node.api<BulkSteering>('POST', '/deliveries/cancel', { destinationId: d.id })
    expect(body.matched).toBe(1)
    await untilStatus(third, 'cancelled')
    await listed(`destinationId=${b.id}&status=cancelled`, [third])
    await listed(`destinationId=${b.id}&status=retrying`, [second])
  })

  it('is paged also where a status is two of Temporal’s', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      const id = await track(source)
      await untilStatus(id, 'retrying')
      if (index % 2 === 0) await node.api('POST', path(id, '/cancel'))
      else await handleOf(id).terminate()
      await untilStatus(id, 'cancelled')
      ids.push(id)
    }
    const query = `sourceId=${source.id}&status=cancelled`
    await until('all are counted', async () => {
      const { body } = await node.api<{ count: number }>('GET', `/deliveries/count?${query}`)
      return body.count === ids.length
    })
    const paged: string[][] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const next: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { body } = await node.api<{ items: Delivery[]; nextCursor: string | null }>(
        'GET',
        `/deliveries?${query}&limit=2${next}`,
      )
      paged.push(body.items.map(({ id }) => id))
      cursor = body.nextCursor
    }
    expect(paged.slice(0, 3)).toEqual([ids.slice(3).reverse(), ids.slice(1, 3).reverse(), ids.slice(0, 1)])
    expect(paged.slice(3).flat()).toEqual([])
  })

  it('refuses an unknown member and a wrong cursor, by name', async () => {
    expect(await node.api('GET', '/deliveries?state=failed')).toMatchObject({
      status: 400,
      body: { code: 'bad_request' },
    })
    expect(await node.api('GET', '/deliveries?cursor=xyz')).toMatchObject({ status: 400, body: { path: 'cursor' } })
  })
})

describe('all deliveries that match', () => {
  it('are retried, cancelled and delivered again, with progress', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const ids = await Promise.all(Array.from({ length: 5 }, (_, index) => track(source, `u${index}`)))
    for (const id of ids) await untilStatus(id, 'retrying')

    const bulk = async (action: string, filter: object): Promise<BulkSteering> => {
      const { status, body } = await node.api<BulkSteering>('POST', `/deliveries/${action}`, filter)
      expect({ status, matched: body.matched }).toEqual({ status: 202, matched: 5 })
      return until(`${action} is done`, async () => {
        const now = await node.api<BulkSteering>('GET', `/deliveries/bulk/${body.id}`)
        return now.body.status !== 'running' && now.body
      })
    }
    await until('five in the list', async () => {
      const { body } = await node.api<{ count: number }>(
        'GET',
        `/deliveries/count?sourceId=${source.id}&status=retrying`,
      )
      return body.count === 5
    })
    const retried = await bulk('retry', { sourceId: source.id, status: 'retrying' })
    expect(retried).toMatchObject({ status: 'completed', done: 5, failed: 0 })
    await receiver.received(10)
    expect(await bulk('cancel', { sourceId: source.id, status: 'retrying' })).toMatchObject({ done: 5 })
    for (const id of ids) await untilStatus(id, 'cancelled')
    receiver.answer({ status: 200 })
    expect(await bulk('redeliver', { sourceId: source.id, status: 'cancelled' })).toMatchObject({ done: 5 })
    for (const id of ids) await untilStatus(`${id}/redelivery/1`, 'delivered')
  })

  it('are counted before a redelivery: what was delivered again before, and what has no destination left', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 404 })
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const ids = [await track(source), await track(source), await track(source)]
    for (const id of ids) await untilStatus(id, 'failed')
    const filter = { sourceId: source.id, status: 'failed' }
    const steerable = async (): Promise<Steerable> =>
      (
        await node.api<Steerable>(
          'GET',
          `/deliveries/steerable?${String(new URLSearchParams(filter))}&action=redeliver`,
        )
      ).body
    const untilCounted = (expected: Partial<Steerable>) =>
      until(JSON.stringify(expected), async () => {
        const counted = await steerable()
        return Object.entries(expected).every(([member, value]) => counted[member as keyof Steerable] === value)
      })
    await untilCounted({ matched: 3, steerable: 3, redelivered: 0 })

    receiver.answer({ status: 200 })
    const [first = ''] = ids
    await node.api('POST', path(first, '/redeliver'))
    await untilStatus(`${first}/redelivery/1`, 'delivered')
    await untilCounted({ matched: 3, steerable: 3, redelivered: 1 })
    const ofIds = await node.api<Steerable>('POST', '/deliveries/steerable', { action: 'redeliver', ids })
    expect(ofIds.body).toEqual(await steerable())
    expect(await node.api('POST', path(first, '/redeliver'), { unlessRedelivered: true })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })

    // Twice the same: the second one has nothing left to send.
    const redeliverAll = async (): Promise<BulkSteering> => {
      const { body } = await node.api<BulkSteering>('POST', '/deliveries/redeliver', {
        ...filter,
        unlessRedelivered: true,
      })
      return until('it is done', async () => {
        const now = await node.api<BulkSteering>('GET', `/deliveries/bulk/${body.id}`)
        return now.body.status !== 'running' && now.body
      })
    }
    const before = [{ reason: 'it was delivered again before', count: 1 }]
    expect(await redeliverAll()).toMatchObject({ matched: 3, done: 2, failed: 1, failures: before })
    for (const id of ids) await untilStatus(`${id}/redelivery/1`, 'delivered')
    expect(await redeliverAll()).toMatchObject({ matched: 3, done: 0, failed: 3 })
    await untilCounted({ redelivered: 3 })
    expect(receiver.requests).toHaveLength(6)

    await node.api('PATCH', `/destinations/${destination.id}`, { enabled: false })
    await untilCounted({ matched: 3, steerable: 0, redelivered: 0 })
    expect((await steerable()).obstacles).toEqual([{ obstacle: 'no_destination', count: 3 }])
  })

  it('are told of, too, where they no longer match when it is their turn', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const id = await track(source)
    await untilStatus(id, 'retrying')
    await until('it is listed', async () => {
      const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}&status=retrying`)
      return body.items.length === 1
    })
    // As if two others had ended since they were counted.
    const bulkId = randomUUID()
    await node.app.temporal.client.workflow.start<typeof steerDeliveries>('steerDeliveries', {
      workflowId: steeringWorkflowId(bulkId),
      taskQueue,
      args: [
        {
          order: { action: 'retry' },
          query: deliveryQuery({ sourceId: source.id, status: 'retrying' }, []),
          until: new Date().toISOString(),
          matched: 3,
          trace: { by: 'the test' },
        },
      ],
    })
    const done = await until('it is done', async () => {
      const { body } = await node.api<BulkSteering>('GET', `/deliveries/bulk/${bulkId}`)
      return body.status !== 'running' && body
    })
    expect(done).toMatchObject({ status: 'completed', matched: 3, done: 1, failed: 2 })
    const reason = 'it no longer matched when it was its turn, or was done by a node that was lost then'
    expect(done.failures).toEqual([{ reason, count: 2 }])
  })

  it('are delivered again to one destination alone', async () => {
    await using receiver = await startReceiver()
    receiver.answer(({ path: at }) => ({ status: at === '/bad' ? 404 : 200 }))
    const source = await node.createSource()
    const bad = await node.connect([source], [`${receiver.url}/bad`])
    await node.connect([source], [`${receiver.url}/good`])
    const ids = [await track(source), await track(source)]
    for (const id of ids) await untilStatus(id, 'partly_delivered')
    await node.api('PATCH', `/destinations/${bad.id}`, { settings: { webhooks: [{ url: `${receiver.url}/mended` }] } })
    const filter = { sourceId: source.id, destinationId: bad.id, status: 'partly_delivered' }
    await until('two in the list', async () => {
      const query = new URLSearchParams(filter).toString()
      return (await node.api<{ count: number }>('GET', `/deliveries/count?${query}`)).body.count === 2
    })
    const order = { ...filter, only: { destinationId: bad.id } }
    expect(await node.api('POST', '/deliveries/redeliver', order)).toMatchObject({ status: 202, body: { matched: 2 } })
    for (const id of ids) await untilStatus(`${id}/redelivery/1`, 'delivered')
    const paths = receiver.requests.map(({ path: at }) => at).sort()
    expect(paths).toEqual(['/bad', '/bad', '/good', '/good', '/mended', '/mended'])
  })
})

describe('a paused destination', () => {
  it('holds its deliveries and wakes them when it is resumed', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    await node.api('PATCH', `/destinations/${destination.id}`, { paused: true })
    const ids = [await track(source), await track(source)]
    for (const id of ids) await untilStatus(id, 'held')
    expect(receiver.requests).toEqual([])
    await until('both in the list', async () => {
      const { body } = await node.api<{ count: number }>(
        'GET',
        `/deliveries/count?destinationId=${destination.id}&status=held`,
      )
      return body.count === 2
    })
    await node.api('PATCH', `/destinations/${destination.id}`, { paused: false })
    // Woken by the resume: by itself a delivery looks at its destination once a day.
    for (const id of ids) await untilStatus(id, 'delivered')
  })

  it('keeps a retry from what waits for nothing but its resumption', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    const paused = await node.connect([source], [`${receiver.url}/paused`])
    await node.api('PATCH', `/destinations/${paused.id}`, { paused: true })
    const held = await track(source)
    await untilStatus(held, 'held')
    const refusal = {
      status: 409,
      body: {
        code: 'conflict',
        message: `Held by the paused destination "${paused.name}" (${paused.id}): resume it to send what waits.`,
      },
    }
    expect(await node.api('POST', path(held, '/retry'))).toMatchObject(refusal)
    expect((await read(held)).steering).toEqual([])

    const steerable = (action: string, filter = `sourceId=${source.id}`) =>
      node.api<Steerable>('GET', `/deliveries/steerable?action=${action}&${filter}`)
    await until('it is counted', async () => (await steerable('cancel')).body.steerable === 1)
    const obstacles = (obstacle: string) => ({ matched: 1, steerable: 0, obstacles: [{ obstacle, count: 1 }] })
    await until('it is counted as held', async () => (await steerable('retry')).body.steerable === 0)
    expect((await steerable('retry')).body).toEqual(obstacles('held'))
    expect((await steerable('redeliver')).body).toEqual(obstacles('under_way'))
    expect((await steerable('retry', `destinationId=${paused.id}&status=failed`)).body.matched).toBe(0)
    expect((await steerable('resume')).status).toBe(400)

    // One that waits for another destination, too, is attempted there.
    await node.connect([source], [`${receiver.url}/failing`])
    const partly = await track(source)
    await receiver.received(1)
    await untilStatus(partly, 'held')
    await until('both are counted', async () => (await steerable('cancel')).body.steerable === 2)
    const oneIsHeld = { matched: 2, steerable: 1, obstacles: [{ obstacle: 'held', count: 1 }] }
    await until('one of them as held', async () => (await steerable('retry')).body.steerable === 1)
    expect((await steerable('retry')).body).toEqual(oneIsHeld)
    const ofIds = (action: string, ids: string[]) =>
      node.api<Steerable>('POST', '/deliveries/steerable', { action, ids })
    expect((await ofIds('retry', [held, partly])).body).toEqual(oneIsHeld)
    expect((await ofIds('redeliver', [held, partly, `${held}-unknown`])).body).toEqual({
      matched: 3,
      steerable: 0,
      obstacles: [
        { obstacle: 'under_way', count: 2 },
        { obstacle: 'gone', count: 1 },
      ],
      redelivered: 0,
    })
    expect(await ofIds('retry', [])).toMatchObject({ status: 400, body: { path: 'ids' } })
    receiver.answer({ status: 200 })
    expect(await node.api('POST', path(partly, '/retry'))).toMatchObject({ status: 200, body: { became: 'retrying' } })
    await until('the other destination has it', async () =>
      (await read(partly)).destinations.some(({ status }) => status === 'delivered'),
    )
    expect(receiver.requests.map(({ path: at }) => at)).toEqual(['/failing', '/failing'])
    expect(await node.api('POST', path(partly, '/retry'))).toMatchObject(refusal)
  })

  it('discards what waits when it is switched off', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const id = await track(source)
    await untilStatus(id, 'retrying')
    await until('in the list', async () => {
      const { body } = await node.api<{ count: number }>(
        'GET',
        `/deliveries/count?destinationId=${destination.id}&status=retrying`,
      )
      return body.count === 1
    })
    await node.api('PATCH', `/destinations/${destination.id}`, { enabled: false })
    const discarded = await untilStatus(id, 'discarded')
    expect(discarded.reason).toContain('switched off')
  })
})
