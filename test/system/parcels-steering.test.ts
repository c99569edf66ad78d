/** Events that travel in parcels are shown, steered and called off one by one and in bulk, as those with workflows of their own. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { Page } from '../../src/db/page.ts'
import type { DeletionRequest } from '../../src/schemas/deletion-request.ts'
import type { BulkSteering, Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { countDeliveriesOf } from '../../src/temporal/deletions.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { expectNoUntoldRepeats } from '../support/repeats.ts'
import { until } from '../support/wait.ts'

/** Events of a flood, and how many users they are of. */
const flooded = 240
const users = 12

const messageIdOf = ({ body }: ReceivedRequest): string =>
  (JSON.parse(body.toString()) as { messageId: string }).messageId
const path = (id: string, action = ''): string => `/deliveries/${encodeURIComponent(id)}${action}`

describe('events in parcels', () => {
  let node: TestApp
  beforeAll(async () => {
    // The second retry leads to a pause that no test waits for.
    const environment = {
      POSTRIDER_RETRY_INITIAL: '1s',
      POSTRIDER_RETRY_MAX: '10m',
      POSTRIDER_RETRY_WINDOW: '4h',
      TEMPORAL_UI_URL: 'http://temporal.test',
    }
    node = await startTestApp({ environment })
  })
  afterAll(() => node[Symbol.asyncDispose]())

  const flood = async (source: Source): Promise<void> => {
    const batch = Array.from({ length: flooded }, (_, n) => ({
      type: 'track',
      event: 'Flooded',
      userId: `${source.id}-${n % users}`,
      messageId: `m-${n}`,
    }))
    expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
  }
  const idOf = (source: Source, n: number): string => eventWorkflowId(source.id, `m-${n}`)
  const read = async (id: string): Promise<DeliveryDetail> => (await node.api<DeliveryDetail>('GET', path(id))).body
  const count = async (query: string): Promise<number> =>
    (await node.api<{ count: number }>('GET', `/deliveries/count?${query}`)).body.count
  const untilCount = (query: string, expected: number) =>
    until(`${expected} of ${query}`, async () => (await count(query)) === expected, 60_000)
  const untilStatus = (id: string, status: string) =>
    until(
      `${id} is ${status}`,
      async () => {
        const detail = await read(id)
        return detail.status === status && detail
      },
      60_000,
    )
  const listAll = async (query: string, limit = 100): Promise<Delivery[]> => {
    const items: Delivery[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { body }: { body: Page<Delivery> } = await node.api('GET', `/deliveries?${query}&limit=${limit}${more}`)
      items.push(...body.items)
      cursor = body.nextCursor
    }
    return items
  }
  /** Until all are under way, and one of them was attempted so often. @returns its number */
  const untilUnderWay = async (source: Source, attempts: number): Promise<number> => {
    await until(
      'all are under way',
      async () => {
        const counts = await Promise.all(
          ['retrying', 'delivering'].map((status) => count(`sourceId=${source.id}&status=${status}`)),
        )
        return counts.reduce((sum, one) => sum + one, 0) === flooded
      },
      60_000,
    )
    const one = await until(
      `one has ${attempts} attempts`,
      async () => {
        const listed = await listAll(`sourceId=${source.id}&status=retrying`)
        return listed.find((delivery) => (delivery.attempts ?? 0) >= attempts)
      },
      60_000,
    )
    return Number(one.messageId.slice(2))
  }
  const logOf = (receiver: Receiver, n: number) => receiver.requests.filter((one) => messageIdOf(one) === `m-${n}`)
  const untilBulkEnds = (id: string) =>
    until(
      'the bulk steering has ended',
      async () => {
        const { body } = await node.api<BulkSteering>('GET', `/deliveries/bulk/${id}`)
        return body.status !== 'running' && body
      },
      60_000,
    )

  it('are listed, counted and told one by one', async () => {
    await using receiver = await startReceiver()
    receiver.answer((request) => ({ status: Number(messageIdOf(request).slice(2)) % 4 === 0 ? 404 : 200, body: 'no' }))
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    await flood(source)
    await untilCount(`sourceId=${source.id}&status=delivered`, (flooded * 3) / 4)
    await untilCount(`destinationId=${destination.id}&status=failed`, flooded / 4)
    expect(await count(`userId=${source.id}-3`)).toBe(flooded / users)
    expect(await count(`messageId=m-7&sourceId=${source.id}`)).toBe(1)

    const listed = await listAll(`sourceId=${source.id}`, 37)
    expect(listed.map(({ id }) => id).toSorted()).toEqual(
      Array.from({ length: flooded }, (_, n) => idOf(source, n)).toSorted(),
    )
    const ends = listed.map(({ endedAt }) => endedAt ?? '')
    expect(ends).toEqual(ends.toSorted().toReversed())
    expect(listed.find(({ messageId }) => messageId === 'm-8')).toMatchObject({
      status: 'failed',
      destinationIds: [destination.id],
      type: 'track',
      event: 'Flooded',
      attempts: 1,
      reason: expect.stringContaining('404') as string,
    })

    const failed = await read(idOf(source, 8))
    const [sent] = logOf(receiver, 8)
    expect(failed).toMatchObject({
      status: 'failed',
      attempts: 1,
      pending: [],
      timeline: [{ status: 404, excerpt: 'no' }],
    })
    expect(failed.body).toBe(sent?.body.toString())
    expect(failed.requests).toMatchObject([{ url: receiver.url }])
    expect(failed.temporalUiUrl).toMatch(/^http:\/\/temporal\.test\/namespaces\/.+\/workflows\/parcel%2F.+/)
    expect(await node.api('POST', path(failed.id, '/retry'))).toMatchObject({ status: 409 })
    expect(await node.api('POST', path(failed.id, '/cancel'))).toMatchObject({ status: 409 })

    receiver.answer({})
    const { status, body } = await node.api<{ id: string }>('POST', path(failed.id, '/redeliver'), { why: 'mended' })
    expect({ status, body }).toEqual({ status: 200, body: { id: `${failed.id}/redelivery/1` } })
    expect(await untilStatus(body.id, 'delivered')).toMatchObject({
      steering: [{ action: 'redeliver', why: 'mended' }],
    })
    expect(logOf(receiver, 8).map((request) => request.body)).toEqual([sent?.body, sent?.body])

    const ofUser = { sourceId: source.id, userId: `${source.id}-4` }
    const { body: again } = await node.api<BulkSteering>('POST', '/deliveries/redeliver', ofUser)
    expect(again).toMatchObject({ matched: flooded / users })
    expect(await untilBulkEnds(again.id)).toMatchObject({ status: 'completed', done: flooded / users, failed: 0 })
    await until('each of them has arrived once more', () =>
      Array.from({ length: flooded / users }, (_, n) => 4 + n * users).every((n) => logOf(receiver, n).length === 2),
    )
  }, 240_000)

  it('are retried and cancelled, one by one and in bulk', async () => {
    await using receiver = await startReceiver()
    const open = new Set<string>()
    receiver.answer((request) => ({ status: open.has(messageIdOf(request)) ? 200 : 503 }))
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await flood(source)
    const n = await untilUnderWay(source, 2)

    // One that waits between attempts.
    const twice = await until('its attempts are told', async () => {
      const detail = await read(idOf(source, n))
      const isResting = detail.pending[0]?.running === false
      return isResting && detail.timeline.length === logOf(receiver, n).length && detail
    })
    expect(twice.timeline.map(({ status }) => status)).toEqual(logOf(receiver, n).map(() => 503))
    for (const [index, { at }] of twice.timeline.entries()) {
      const arrivedAt = logOf(receiver, n)[index]?.arrivedAt.getTime() ?? 0
      expect(Math.abs(arrivedAt - Date.parse(at))).toBeLessThan(20_000)
    }
    expect(twice).toMatchObject({ status: 'retrying', attempts: twice.timeline.length })
    expect(Date.parse(twice.nextAttemptAt ?? '')).toBeGreaterThan(Date.parse(twice.timeline.at(-1)?.at ?? ''))
    expect(await node.api('POST', path(twice.id, '/redeliver'))).toMatchObject({ status: 409 })

    open.add(`m-${n}`)
    expect(await node.api('POST', path(twice.id, '/retry'), { why: 'it is back' })).toMatchObject({
      status: 200,
      body: { became: 'retrying' },
    })
    const delivered = await untilStatus(twice.id, 'delivered')
    expect(delivered.timeline.map(({ status }) => status)).toEqual([
      ...logOf(receiver, n)
        .slice(1)
        .map(() => 503),
      200,
    ])
    expect(delivered.steering).toMatchObject([{ action: 'retry', by: 'admin', why: 'it is back' }])
    expect(delivered.startedAt).toBe(twice.startedAt)
    expect(delivered.temporalUiUrl).toContain('/workflows/event%2F')
    await until('it is listed once', async () => {
      const listed = await listAll(`sourceId=${source.id}`)
      expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length)
      const taken = listed.filter(({ status }) => status === 'delivered')
      return listed.length === flooded && taken.length === 1 && taken[0]?.startedAt === twice.startedAt
    })
    expect(await count(`sourceId=${source.id}`)).toBe(flooded)

    // Not one of the user whose deliveries are cancelled below.
    const other = n % users === 6 ? 7 : 6
    const cancelled = idOf(source, other)
    expect(await node.api('POST', path(cancelled, '/cancel'), { why: 'by mistake' })).toMatchObject({
      status: 200,
      body: { became: 'cancelling' },
    })
    expect(await untilStatus(cancelled, 'cancelled')).toMatchObject({
      pending: [],
      steering: [{ action: 'cancel', by: 'admin', why: 'by mistake' }],
    })
    expect(await node.api('POST', path(cancelled, '/cancel'))).toMatchObject({ status: 409 })
    const requests = logOf(receiver, other).length

    const cancelledUser = [0, 1, 2].find((user) => user !== n % users && user !== other)
    const { body: cancelling } = await node.api<BulkSteering>('POST', '/deliveries/cancel', {
      sourceId: source.id,
      userId: `${source.id}-${cancelledUser}`,
    })
    expect(cancelling).toMatchObject({ matched: flooded / users })
    expect(await untilBulkEnds(cancelling.id)).toMatchObject({ status: 'completed', done: flooded / users, failed: 0 })
    await untilCount(`sourceId=${source.id}&status=cancelled`, flooded / users + 1)

    const left = flooded - flooded / users - 2
    for (let n = 0; n < flooded; n++) open.add(`m-${n}`)
    const { body: retrying } = await node.api<BulkSteering>('POST', '/deliveries/retry', { sourceId: source.id })
    // Those that are over cannot be retried, nor those that were attempted by themselves meanwhile.
    const { done, failed } = await untilBulkEnds(retrying.id)
    expect(done).toBeGreaterThan(0)
    expect(failed).toBeGreaterThan(flooded / users)
    await untilCount(`sourceId=${source.id}&status=delivered`, left + 1)
    expect(logOf(receiver, other)).toHaveLength(requests)
    const all = await listAll(`sourceId=${source.id}&status=delivered`)
    expect(new Set(all.map(({ id }) => id)).size).toBe(left + 1)
  }, 240_000)

  it('are found and steered by when they were accepted, those that left their parcel later, too', async () => {
    await using receiver = await startReceiver()
    receiver.answer(() => ({ status: 503 }))
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await flood(source)
    const n = await untilUnderWay(source, 2)
    const left = idOf(source, n)
    const moment = new Date().toISOString()
    expect((await node.api('POST', path(left, '/retry'))).status).toBe(200)
    await until('it has left', async () => (await read(left)).temporalUiUrl?.includes('/workflows/event%2F'))

    await untilCount(`sourceId=${source.id}&until=${moment}`, flooded)
    const earlier = await listAll(`sourceId=${source.id}&until=${moment}`)
    expect(earlier.map(({ id }) => id)).toContain(left)
    expect(earlier).toHaveLength(flooded)
    expect(await count(`sourceId=${source.id}&since=${moment}`)).toBe(0)
    expect(await listAll(`sourceId=${source.id}&since=${moment}`)).toEqual([])

    // A deletion request of that moment is about it, too.
    const [before, forgottenAt] = [new Date(moment), new Date(moment)]
    const order = { userIds: [`${source.id}-${n % users}`], scope: [source.id], before, forgottenAt, why: 'asked' }
    expect(await countDeliveriesOf(node.app.temporal, order)).toBe(1)

    const { body } = await node.api<BulkSteering>('POST', '/deliveries/cancel', { sourceId: source.id, until: moment })
    expect(body).toMatchObject({ matched: flooded })
    expect(await untilBulkEnds(body.id)).toMatchObject({ status: 'completed', done: flooded, failed: 0 })
    await untilCount(`sourceId=${source.id}&status=cancelled`, flooded)
  }, 240_000)

  it('wait for a destination that is paused, and are discarded by one that is switched off', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const { id: destinationId } = await node.connect([source], [receiver.url])
    const change = (body: Partial<Pick<Destination, 'paused' | 'enabled'>>) =>
      node.api('PATCH', `/destinations/${destinationId}`, body)
    await change({ paused: true })
    await flood(source)
    await untilCount(`destinationId=${destinationId}&status=held`, flooded)
    expect(await read(idOf(source, 3))).toMatchObject({ status: 'held', nextAttemptAt: null, timeline: [] })
    expect(receiver.requests).toEqual([])
    const isHeld = expect.stringMatching(/^held by the paused destination /i) as string
    expect(await node.api('POST', path(idOf(source, 3), '/retry'))).toMatchObject({
      status: 409,
      body: { code: 'conflict', message: isHeld },
    })
    expect((await read(idOf(source, 3))).steering).toEqual([])
    const { body: retrying } = await node.api<BulkSteering>('POST', '/deliveries/retry', { sourceId: source.id })
    expect(await untilBulkEnds(retrying.id)).toMatchObject({
      matched: flooded,
      done: 0,
      failed: flooded,
      failures: [{ reason: isHeld, count: flooded }],
    })
    await change({ paused: false })
    await untilCount(`destinationId=${destinationId}&status=delivered`, flooded)
    await expectNoUntoldRepeats(node, receiver, source.id)

    receiver.answer({ status: 503 })
    const other = await node.createSource()
    const { id: failing } = await node.connect([other], [receiver.url])
    await flood(other)
    await untilUnderWay(other, 2)
    await node.api('PATCH', `/destinations/${failing}`, { enabled: false })
    await untilCount(`destinationId=${failing}&status=discarded`, flooded)
    expect(await read(idOf(other, 3))).toMatchObject({ status: 'discarded', reason: expect.any(String) as string })
  }, 240_000)

  it('are retried where they wait for another destination than one that is paused', async () => {
    await using receiver = await startReceiver()
    const open = new Set<string>()
    receiver.answer((request) => ({ status: open.has(messageIdOf(request)) ? 200 : 503 }))
    const source = await node.createSource()
    const paused = await node.connect([source], [`${receiver.url}/paused`])
    await node.api('PATCH', `/destinations/${paused.id}`, { paused: true })
    await node.connect([source], [`${receiver.url}/failing`])
    await flood(source)
    await untilCount(`sourceId=${source.id}&status=held`, flooded)
    const [n, id] = [7, idOf(source, 7)]
    open.add(`m-${n}`)
    expect(await node.api('POST', path(id, '/retry'), { why: 'it is back' })).toMatchObject({ status: 200 })
    await until('the other destination has it', async () =>
      (await read(id)).destinations.some(({ status }) => status === 'delivered'),
    )
    expect(await node.api('POST', path(id, '/retry'))).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(logOf(receiver, n).map((request) => request.path)).not.toContain('/paused')
  }, 240_000)

  it('are cancelled when an operator terminates the workflow that they share', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await flood(source)
    await untilUnderWay(source, 1)
    // Some have workflows of their own.
    const [n, parcelId] = await until('one of a parcel is retried', async () => {
      for (const { id, messageId } of await listAll(`sourceId=${source.id}&status=retrying`)) {
        const [, found] = /workflows\/(parcel%2F[^/]+)/.exec((await read(id)).temporalUiUrl ?? '') ?? []
        if (found !== undefined) return [Number(messageId.slice(2)), found] as const
      }
      return undefined
    })
    await node.app.temporal.client.workflow.getHandle(decodeURIComponent(parcelId)).terminate()
    expect(await node.api('POST', path(idOf(source, n), '/cancel'))).toMatchObject({ status: 409 })
    const cancelled = await until('its events are cancelled', async () => {
      const listed = await listAll(`sourceId=${source.id}&status=cancelled`)
      return listed.length > 0 && listed
    })
    expect(cancelled.map(({ messageId }) => messageId)).toContain(`m-${n}`)
    expect(cancelled.length).toBeLessThanOrEqual(100)
  }, 240_000)

  it('are called off by a deletion request of their user', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await flood(source)
    await untilUnderWay(source, 1)
    const asked = await node.api<DeletionRequest>('POST', '/deletion-requests', {
      userIds: [`${source.id}-4`],
      sourceIds: [source.id],
    })
    expect(asked.status).toBe(202)
    const request = await until(
      'it is completed',
      async () => {
        const { body } = await node.api<DeletionRequest>('GET', `/deletion-requests/${asked.body.id}`)
        return body.status === 'completed' && body
      },
      60_000,
    )
    expect(request).toMatchObject({ cancelled: flooded / users })
    // Rows of parcels have forgotten whose they were; what travels alone is known by its hash.
    const alone = await count(`userId=${source.id}-4&status=cancelled`)
    const { items } = (await node.api<Page<Delivery>>('GET', `/deliveries?sourceId=${source.id}&status=cancelled`)).body
    expect(items.filter(({ erased }) => erased)).toHaveLength(flooded / users - alone)
    expect(await count(`sourceId=${source.id}&status=delivered`)).toBe(0)
    expect(await count(`sourceId=${source.id}&status=cancelled`)).toBe(flooded / users)
  }, 240_000)
})
