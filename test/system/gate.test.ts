/** Endpoints that fail or hang, each with hundreds of events, and those beside them. */

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { DestinationView } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { opened } from '../../src/temporal/opened.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Answer, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { testPayloads } from '../support/sealed-payloads.ts'
import { until } from '../support/wait.ts'
import { deliver, deliveryOf } from './deliveries.ts'

const timeout = 240_000
const limitMs = 150_000

/** What the gate tells one delivery is seen where each has a workflow of its own. On a slow machine an endpoint is down for longer than the
 *  window of tests. */
const environment = { POSTRIDER_PARCELS: 'off', POSTRIDER_RETRY_WINDOW: '1h' }

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment })
})
afterAll(() => node[Symbol.asyncDispose]())

const postMany = async (source: Source, prefix: string, count: number): Promise<string[]> => {
  const messageIds = Array.from({ length: count }, (_, n) => `${prefix}-${n}`)
  const batch = messageIds.map((messageId) => ({ type: 'track', userId: 'u1', event: 'E', messageId }))
  expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
  return messageIds
}

const messageIdOf = ({ body }: ReceivedRequest): string =>
  (JSON.parse(body.toString()) as { messageId: string }).messageId

it(
  'an endpoint that is down gets probes in place of an attempt for each event, and all once it is back',
  { timeout },
  async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const first = await postMany(source, 'first', 120)
    const reasonOf = async (messageId: string): Promise<string | undefined> => {
      const { raw } = await deliveryOf(node.app.temporal, source, messageId).describe()
      const [pending] = opened(testPayloads, raw.pendingActivities ?? [])
      return pending?.lastFailure?.message ?? undefined
    }
    const reason = await until('one is told that the endpoint is down', async () => {
      const found = await Promise.all(first.slice(0, 20).map((id) => reasonOf(id).catch(() => undefined)))
      return found.find((text) => text?.includes('is down'))
    })
    expect(reason).toMatch(/^not attempted: the endpoint is down since \d{4}-[^ ]+Z, next probe at \d{4}-[^ ]+Z$/)
    const untried = await until('the log says so of one that was never attempted', async () => {
      const path = `/deliveries?status=retrying&destinationId=${destination.id}&limit=200`
      const { items } = (await node.api<{ items: Delivery[] }>('GET', path)).body
      for (const listed of items.filter((one) => one.reason?.includes('is down'))) {
        const { body } = await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(listed.id)}`)
        if (body.timeline.length === 0 && body.nextAttemptAt !== null) return { listed, shown: body }
      }
      return undefined
    })
    const told = { status: 'retrying', reason: expect.stringMatching(/^not attempted: the endpoint is down/) as string }
    expect(untried).toMatchObject({
      listed: told,
      shown: { ...told, attempts: 0, destinations: [{ status: 'retrying' }] },
    })
    await until('all tell the same of it as the page of its destination', async () => {
      const path = `/deliveries?status=retrying&destinationId=${destination.id}&limit=200`
      const { items } = (await node.api<{ items: Delivery[] }>('GET', path)).body
      const { body } = await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(untried.shown.id)}`)
      const { endpoints } = (await node.api<DestinationView>('GET', `/destinations/${destination.id}`)).body
      const reasons = [...items, body, ...(body.destinations[0]?.endpoints ?? [])].map((one) => one.reason)
      const since = reasons.flatMap((one) => /down since (\S+),/.exec(one ?? '')?.[1] ?? [])
      return since.length > 20 && since.every((one) => one === endpoints[0]?.downSince)
    })
    const before = receiver.requests.length
    const second = await postMany(source, 'second', 120)
    // The first ones come again meanwhile, each once a second.
    await until('probes go on', () => receiver.requests.length >= before + 5, limitMs)
    expect(receiver.requests.length).toBeLessThan(before + 60)

    const taken: string[] = []
    receiver.answer((request) => {
      taken.push(messageIdOf(request))
      return {}
    })
    await until('all are taken', () => taken.length >= 240, limitMs)
    const last = await deliver(node.app.temporal, source, [destination])
    expect((await last.result()).outcome).toBe('delivered')
    expect(taken.toSorted()).toEqual([...first, ...second, taken.at(-1)].toSorted())
    await until('the log has it as delivered, without a reason', async () => {
      const path = `/deliveries?messageId=${untried.listed.messageId}`
      const { items } = (await node.api<{ items: Delivery[] }>('GET', path)).body
      return items[0]?.status === 'delivered' && items[0].reason === null && items[0].nextAttemptAt === null
    })
  },
)

it('no delivery names a probe that is over, where several of its endpoints are down', { timeout }, async () => {
  await using patient = await startTestApp({
    environment: { ...environment, POSTRIDER_RETRY_INITIAL: '1m', POSTRIDER_RETRY_MAX: '1m' },
  })
  await using one = await startReceiver()
  await using other = await startReceiver()
  for (const receiver of [one, other]) receiver.answer({ status: 503 })
  const source = await patient.createSource()
  for (const { url } of [one, other]) await patient.connect([source], [url])
  const batch = Array.from({ length: 60 }, (_, n) => ({ type: 'track', userId: 'u1', event: 'E', messageId: `m-${n}` }))
  expect((await patient.post('/batch', source.writeKey, { batch })).status).toBe(200)

  const probeOf = (reason: string | null): number => Date.parse(/next probe at (\S+)/.exec(reason ?? '')?.[1] ?? '')
  const probes = new Set<number>()
  const over: string[] = []
  await until('three probes of rows that wait have passed', async () => {
    const askedAt = Date.now()
    const path = `/deliveries?sourceId=${source.id}&status=retrying&limit=200`
    const { items } = (await patient.api<{ items: Delivery[] }>('GET', path)).body
    const [waiting] = items.filter(({ reason }) => reason?.includes('is down'))
    if (waiting === undefined) return false
    const { body } = await patient.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(waiting.id)}`)
    const endpoints = body.destinations.flatMap((destination) => destination.endpoints)
    for (const { reason } of [...items, body, ...endpoints]) {
      if (probeOf(reason) < askedAt) over.push(reason ?? '')
      else if (probeOf(reason) >= askedAt) probes.add(probeOf(reason))
    }
    return [...probes].filter((at) => at < askedAt).length >= 3
  })
  expect(over).toEqual([])
})

it('an attempt that an operator orders is made while the endpoint is down', { timeout }, async () => {
  await using patient = await startTestApp({ environment: { ...environment, POSTRIDER_RETRY_MAX: '10m' } })
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await patient.createSource()
  const destination = await patient.connect([source], [receiver.url])
  const batch = Array.from({ length: 60 }, (_, n) => ({ type: 'track', userId: 'u1', event: 'E', messageId: `m-${n}` }))
  expect((await patient.post('/batch', source.writeKey, { batch })).status).toBe(200)
  const attempted = async (): Promise<Delivery | undefined> => {
    const path = `/deliveries?status=retrying&destinationId=${destination.id}&limit=200`
    const { items } = (await patient.api<{ items: Delivery[] }>('GET', path)).body
    return items.find(({ attempts }) => attempts !== null && attempts >= 2)
  }
  const waiting = await until('one was attempted and waits', attempted, limitMs)
  const orderOnce = async (): Promise<{ takenAt: number; probedAt: number }> => {
    const probedAt = await until('the next probe is seconds away', async () => {
      const { body } = await patient.api<DestinationView>('GET', `/destinations/${destination.id}`)
      const at = Date.parse(body.endpoints[0]?.nextProbeAt ?? '')
      return at - Date.now() > 4_000 && at
    })
    const before = receiver.requests.length
    const path = `/deliveries/${encodeURIComponent(waiting.id)}/retry`
    expect((await patient.api('POST', path)).status).toBe(200)
    const isTaken = () => receiver.requests.slice(before).find((request) => messageIdOf(request) === waiting.messageId)
    const taken = await until('it is taken', isTaken, limitMs)
    return { takenAt: taken.arrivedAt.getTime(), probedAt }
  }
  // On a slow machine a probe may be under way when the order comes: then it has to wait.
  let { takenAt, probedAt } = await orderOnce()
  for (let round = 1; takenAt >= probedAt && round < 5; round++) ({ takenAt, probedAt } = await orderOnce())
  expect(takenAt).toBeLessThan(probedAt)
})

it('a delivery that is retried alone is never kept away, however often it fails', { timeout }, async () => {
  await using receiver = await startReceiver()
  const failures = 25
  receiver.answer((_request, index) => ({ status: index < failures ? 503 : 200 }))
  const source = await node.createSource()
  const destination = await node.connect([source], [receiver.url])
  const retry = { initialMs: 200, maxMs: 200 }
  const delivery = await deliver(node.app.temporal, source, [destination], { retry })
  expect((await delivery.result()).destinations[0]?.endpoints).toMatchObject([{ attempts: failures + 1 }])
  // Temporal counts those in vain, too: all but the first are its.
  const { events } = await delivery.fetchHistory()
  const tried = events?.flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? [])
  expect(tried).toEqual([failures])
})

/** Hundreds of deliveries that come again each second keep a slow machine busy: those of one test end with it. */
const connectUntilTheEnd = async (source: Source, url: string): Promise<void> => {
  const { id } = await node.connect([source], [url])
  onTestFinished(async () => {
    expect((await node.api('DELETE', `/destinations/${id}`)).status).toBe(200)
  })
}

/** Requests that hang at this moment. */
const open = (receivers: Receiver[], isHanging: (path: string) => boolean = () => true): number =>
  receivers.flatMap(({ requests }) => requests).filter(({ path, isAbandoned }) => isHanging(path) && !isAbandoned)
    .length

it('an endpoint is served beside 13 on its host that hang', { timeout }, async () => {
  await using receiver = await startReceiver()
  const isHanging = (path: string): boolean => path.startsWith('/hang')
  receiver.answer(({ path }): Answer => (isHanging(path) ? 'hang' : {}))
  const [bad, good] = [await node.createSource(), await node.createSource()]
  for (let n = 0; n < 13; n++) await connectUntilTheEnd(bad, `${receiver.url}/hang-${n}`)
  await node.connect([good], [`${receiver.url}/good`])
  await postMany(bad, 'hanging', 20)
  await until('they hang', () => open([receiver], isHanging) > 50)
  await postMany(good, 'good', 20)
  const served = (): number => receiver.requests.filter(({ path }) => !isHanging(path)).length
  await until('the good one has all', () => served() === 20, limitMs)
  // Three quarters of the sockets at most, of 128.
  expect(open([receiver], isHanging)).toBeLessThanOrEqual(96)
})

it('an endpoint is served beside 50 that hang on hosts of their own', { timeout }, async () => {
  const hanging = await Promise.all(Array.from({ length: 50 }, () => startReceiver()))
  await using receiver = await startReceiver()
  try {
    const [bad, good] = [await node.createSource(), await node.createSource()]
    for (const each of hanging) {
      each.answer('hang')
      await connectUntilTheEnd(bad, each.url)
    }
    await node.connect([good], [receiver.url])
    await postMany(bad, 'hanging', 8)
    await until('they hang', () => open(hanging) > 100)
    await postMany(good, 'good', 20)
    await receiver.received(20, limitMs)
    // Three quarters of the places at most: 320 for first attempts, 160 for retries.
    expect(open(hanging)).toBeLessThanOrEqual(360)
  } finally {
    await Promise.all(hanging.map((each) => each.close()))
  }
})

it(
  'an endpoint that is down is shown so, with since when, why and the next probe, until it is back',
  { timeout },
  async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    const { id, endpoints } = await node.connect([source], [receiver.url])
    expect(endpoints).toMatchObject([{ state: 'untried', lastAttemptAt: null, downSince: null, downOnNodes: 0 }])
    const beganAt = Date.now()
    await postMany(source, 'shown', 120)
    const stateOf = async () => (await node.api<DestinationView>('GET', `/destinations/${id}`)).body.endpoints[0]
    const metric = async (): Promise<string | undefined> =>
      (await (await fetch(`${node.url}/metrics`)).text())
        .split('\n')
        .find((line) => line.startsWith('postrider_endpoint_down{') && line.includes(`destination_id="${id}"`))

    const down = await until('it is down', async () => {
      const state = await stateOf()
      return state?.state === 'down' && state.failingSince !== null && state
    })
    expect(down).toMatchObject({ reason: 'The endpoint answered 503 Service Unavailable.', downOnNodes: 1 })
    const firstRequest = receiver.requests[0]?.arrivedAt.getTime() ?? NaN
    // Down since the first attempt that failed, whose answer came before it was seen to have failed.
    expect(Date.parse(down.downSince ?? '')).toBeGreaterThanOrEqual(beganAt)
    expect(Date.parse(down.downSince ?? '')).toBeLessThanOrEqual(Date.parse(down.lastAttemptAt ?? ''))
    expect(Date.parse(down.failingSince ?? '')).toBeGreaterThanOrEqual(firstRequest)
    expect(down.downSince).toBe(down.failingSince)
    expect(await metric()).toMatch(/endpoint_id="ep_[^"]+"\} 1$/)
    expect((await node.api<{ items: DestinationView[] }>('GET', '/destinations?limit=200')).body.items).toContainEqual(
      expect.objectContaining({ id, endpoints: [expect.objectContaining({ state: 'down' })] }),
    )

    // The new address fails as well: only what is forgotten of the old one can change since when the node keeps attempts from it.
    const keptSince = async (): Promise<string[]> => {
      const { items } = (
        await node.api<{ items: Delivery[] }>('GET', `/deliveries?destinationId=${id}&status=retrying`)
      ).body
      return items.flatMap(({ reason }) => /down since ([^,]+),/.exec(reason ?? '')?.[1] ?? [])
    }
    const [before] = await until('attempts are kept from it', async () => {
      const since = await keptSince()
      return since.length > 0 && since
    })
    const webhooks = [{ id: endpoints[0]?.id, url: `${receiver.url}/mended` }]
    expect((await node.api('PATCH', `/destinations/${id}`, { settings: { webhooks } })).status).toBe(200)
    await until(
      'it is not down any more, or down anew',
      async () => (await keptSince()).some((since) => since !== before),
      limitMs,
    )

    receiver.answer({})
    const answered = receiver.requests.length
    const back = await until('it works', async () => {
      const state = await stateOf()
      return state?.state === 'working' && state
    })
    expect(back).toMatchObject({ downSince: null, nextProbeAt: null, failingSince: null, reason: null, downOnNodes: 0 })
    expect(await metric()).toMatch(/\} 0$/)
    const missing = async (): Promise<unknown[]> => {
      const took = new Set(receiver.requests.slice(answered).map(messageIdOf))
      const path = `/deliveries?destinationId=${id}&limit=200`
      const { items } = (await node.api<{ items: Delivery[] }>('GET', path)).body
      expect(items).toHaveLength(120)
      return items
        .filter(({ messageId }) => !took.has(messageId))
        .map(({ messageId, status, attempts, reason, nextAttemptAt }) => ({
          ...{ messageId, status, attempts, reason, nextAttemptAt },
          requests: receiver.requests.filter((request) => messageIdOf(request) === messageId).length,
        }))
    }
    await expect.poll(missing, { timeout: limitMs, interval: 500 }).toEqual([])

    // What an operator has paused needs nobody.
    await node.api('PATCH', `/destinations/${id}`, { paused: true })
    expect(await metric()).toBeUndefined()
  },
)
