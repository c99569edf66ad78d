import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { AttemptRecord } from '../../src/contracts/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { findFreePorts } from '../../src/ports.ts'
import { first } from '../../src/temporal/history.ts'
import { opened } from '../../src/temporal/opened.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Answer } from '../support/receiver.ts'
import { testPayloads } from '../support/sealed-payloads.ts'
import { deliver, deliveryOf, failureOf, outcomeAttribute, until, untilOutcome } from './deliveries.ts'

/** Longer than retries go on unless a test says otherwise. */
const limit = 120_000

let node: TestApp
const logLines: string[] = []
beforeAll(async () => {
  node = await startTestApp({ logger: pino({ level: 'warn' }, { write: (line) => void logLines.push(line) }) })
})
afterAll(() => node[Symbol.asyncDispose]())

const endpointIds = ({ settings }: Destination): string[] => settings.webhooks.map(({ id }) => id)

/** Attempts of either kind that may be under way at one endpoint that never answers. */
const places = 8

/** From then on nobody waits in line at an endpoint from which nothing came back; with room for a loaded machine. */
const hangsAfterMs = 700

/** Times between neighbouring requests, in milliseconds. */
const gaps = (requests: { arrivedAt: Date }[]): number[] =>
  requests.slice(1).map(({ arrivedAt }, index) => arrivedAt.getTime() - (requests[index]?.arrivedAt.getTime() ?? 0))

const unused = async (): Promise<number> => (await findFreePorts('127.0.0.1', 1))[0] ?? 0

describe.concurrent('any of several endpoints', () => {
  it('is enough: nobody is retried when one succeeds in the first round', { timeout: limit }, async ({ expect }) => {
    await using good = await startReceiver()
    await using down = await startReceiver()
    await using broken = await startReceiver()
    down.answer({ status: 503 })
    broken.answer({ status: 500 })
    const source = await node.createSource()
    const destination = await node.connect([source], [down.url, good.url, broken.url])
    const delivery = await deliver(node.app.temporal, source, [destination])
    const [first, second, third] = endpointIds(destination)
    expect(await delivery.result()).toEqual({
      outcome: 'delivered',
      destinations: [
        {
          destinationId: destination.id,
          outcome: 'delivered',
          endpoints: [
            {
              endpointId: first,
              outcome: 'superseded',
              attempts: 1,
              reason: 'The endpoint answered 503 Service Unavailable.',
            },
            { endpointId: second, outcome: 'delivered', attempts: 1 },
            {
              endpointId: third,
              outcome: 'superseded',
              attempts: 1,
              reason: 'The endpoint answered 500 Internal Server Error.',
            },
          ],
        },
      ],
    })
    expect([down, good, broken].map(({ requests }) => requests.length)).toEqual([1, 1, 1])
    // Set on the unhappy path only: it costs a transaction.
    expect(await outcomeAttribute(delivery)).toBeUndefined()
  })

  it('does not end the first requests to the others', { timeout: limit }, async ({ expect }) => {
    await using quick = await startReceiver()
    await using slow = await startReceiver()
    slow.answer({ delayMs: 1_500 })
    const source = await node.createSource()
    const destination = await node.connect([source], [quick.url, slow.url])
    const result = await (await deliver(node.app.temporal, source, [destination])).result()
    expect(result.destinations[0]?.endpoints.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered'])
  })

  it('retries passing failures only, and stops all at the first success', { timeout: limit }, async ({ expect }) => {
    await using gone = await startReceiver()
    await using recovering = await startReceiver()
    await using down = await startReceiver()
    gone.answer({ status: 404, body: 'no such hook' })
    recovering.answerInTurn({ status: 503 }, { status: 503 }, {})
    down.answer({ status: 503 })
    const source = await node.createSource()
    const destination = await node.connect([source], [gone.url, recovering.url, down.url])
    const delivery = await deliver(node.app.temporal, source, [destination])
    const { outcome, destinations } = await delivery.result()
    expect(outcome).toBe('delivered')
    expect(destinations[0]?.endpoints).toMatchObject([
      { outcome: 'failed', attempts: 1, reason: 'The endpoint answered 404 Not Found.' },
      { outcome: 'delivered', attempts: 3 },
      { outcome: 'superseded' },
    ])
    expect(gone.requests).toHaveLength(1)
    expect(recovering.requests).toHaveLength(3)
    expect(down.requests.length).toBeGreaterThan(1)
    expect(await outcomeAttribute(delivery)).toBe('delivered')
    // The delivery is closed, so that nothing can follow: the next event is the next thing that the endpoint sees.
    const before = down.requests.length
    recovering.answer({})
    await (await deliver(node.app.temporal, source, [destination])).result()
    expect(down.requests).toHaveLength(before + 1)
  })
})

describe.concurrent('the policy "all"', () => {
  it('retries each endpoint until it succeeded', { timeout: limit }, async ({ expect }) => {
    await using good = await startReceiver()
    await using recovering = await startReceiver()
    recovering.answerInTurn({ status: 500 }, { status: 429 }, {})
    const source = await node.createSource()
    const destination = await node.connect([source], [good.url, recovering.url], { successPolicy: 'all' })
    const result = await (await deliver(node.app.temporal, source, [destination])).result()
    expect(result.destinations[0]?.endpoints).toMatchObject([
      { outcome: 'delivered', attempts: 1 },
      { outcome: 'delivered', attempts: 3 },
    ])
    expect(good.requests).toHaveLength(1)
  })

  it('fails for the endpoint that refused, after the others are served', { timeout: limit }, async ({ expect }) => {
    await using gone = await startReceiver()
    await using recovering = await startReceiver()
    gone.answer({ status: 410 })
    recovering.answerInTurn({ status: 500 }, {})
    const source = await node.createSource()
    const destination = await node.connect([source], [gone.url, recovering.url], { successPolicy: 'all' })
    const { message, result } = await failureOf(await deliver(node.app.temporal, source, [destination]))
    expect(message).toBe(`${String(endpointIds(destination)[0])}: The endpoint answered 410 Gone.`)
    expect(result.destinations[0]?.endpoints.map(({ outcome }) => outcome)).toEqual(['failed', 'delivered'])
  })
})

describe.concurrent('several destinations', () => {
  it(
    'are served each on its own, and one that fails makes the delivery fail',
    { timeout: limit },
    async ({ expect }) => {
      await using good = await startReceiver()
      await using recovering = await startReceiver()
      await using gone = await startReceiver()
      recovering.answerInTurn({ status: 503 }, { status: 503 }, {})
      gone.answer({ status: 404 })
      const source = await node.createSource()
      const destinations = [
        await node.connect([source], [good.url]),
        await node.connect([source], [recovering.url]),
        await node.connect([source], [gone.url]),
      ]
      await node.post('/track', source.writeKey, { messageId: 'three', userId: 'u1', event: 'E' })
      const { message, result } = await failureOf(deliveryOf(node.app.temporal, source, 'three'))
      const byId = new Map(result.destinations.map((one) => [one.destinationId, one]))
      expect(destinations.map(({ id }) => byId.get(id)?.outcome)).toEqual(['delivered', 'delivered', 'failed'])
      expect(message).toBe(`${String(destinations[2]?.settings.webhooks[0]?.id)}: The endpoint answered 404 Not Found.`)
      expect([good, recovering, gone].map(({ requests }) => requests.length)).toEqual([1, 3, 1])
    },
  )
})

describe.concurrent('a failure', () => {
  it('that is final is not retried and says why', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 404, body: 'no\u0000 such <b>hook</b>\n' })
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const delivery = await deliver(node.app.temporal, source, [destination])
    const { message, result } = await failureOf(delivery)
    expect(message).toBe(`${String(endpointIds(destination)[0])}: The endpoint answered 404 Not Found.`)
    expect(result.destinations[0]?.endpoints).toMatchObject([
      {
        outcome: 'failed',
        attempts: 1,
        reason: 'The endpoint answered 404 Not Found.',
        lastAttempt: { status: 404 },
      },
    ])
    expect((await delivery.describe()).status.name).toBe('FAILED')
    expect(receiver.requests).toHaveLength(1)
  })

  it.for<[string, Answer]>([
    ['a 500', { status: 500 }],
    ['a 408', { status: 408 }],
    ['a 425', { status: 425 }],
    ['a reset connection', 'reset'],
    ['no answer within 5 seconds', 'hang'],
  ])('that may pass is retried until it works: %s', { timeout: limit }, async ([, answer], { expect }) => {
    await using receiver = await startReceiver()
    receiver.answerInTurn(answer, answer, {})
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const delivery = await deliver(node.app.temporal, source, [destination])
    await untilOutcome(delivery, 'retrying')
    const result = await delivery.result()
    expect(result.destinations[0]?.endpoints).toMatchObject([{ outcome: 'delivered', attempts: 3 }])
    expect(receiver.requests).toHaveLength(3)
  })

  it('that may pass is retried until it works: a refused connection', { timeout: limit }, async ({ expect }) => {
    const port = await unused()
    const source = await node.createSource()
    const destination = await node.connect([source], [`http://127.0.0.1:${port}`])
    const delivery = await deliver(node.app.temporal, source, [destination])
    await untilOutcome(delivery, 'retrying')
    await using receiver = await startReceiver({ port })
    expect((await delivery.result()).outcome).toBe('delivered')
    expect(receiver.requests).toHaveLength(1)
  })

  it('by a wrong URL ends when the URL is corrected', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [`http://127.0.0.1:${await unused()}`], {
      headers: { 'X-Kept': 'yes' },
    })
    const delivery = await deliver(node.app.temporal, source, [destination])
    await untilOutcome(delivery, 'retrying')
    const [id] = endpointIds(destination)
    const { body } = await node.api<Destination>('PATCH', `/destinations/${destination.id}`, {
      settings: { webhooks: [{ id, url: receiver.url }] },
    })
    expect(body.settings.webhooks).toEqual([{ id, url: receiver.url, headers: { 'X-Kept': 'yes' } }])
    const [request] = await receiver.received(1)
    expect(request?.headers['x-kept']).toBe('yes')
    expect((await delivery.result()).destinations[0]?.endpoints[0]).toMatchObject({
      endpointId: id,
      outcome: 'delivered',
    })
  })

  it('by a wrong URL ends when the URL is corrected by who knows no ids', { timeout: limit }, async ({ expect }) => {
    await using right = await startReceiver()
    await using broken = await startReceiver()
    broken.answer({ status: 503 })
    const source = await node.createSource()
    const wrong = `http://127.0.0.1:${await unused()}`
    const destination = await node.connect([source], [wrong, broken.url], { successPolicy: 'all' })
    const delivery = await deliver(node.app.temporal, source, [destination])
    await untilOutcome(delivery, 'retrying')
    const webhooks = [{ url: broken.url }, { url: right.url }]
    await node.api<Destination>('PATCH', `/destinations/${destination.id}`, { settings: { webhooks } })
    broken.answer({ status: 200 })
    expect((await delivery.result()).destinations[0]?.endpoints).toMatchObject(
      endpointIds(destination).map((endpointId) => ({ endpointId, outcome: 'delivered' })),
    )
    expect(right.requests).toHaveLength(1)
  })

  it('by a slow endpoint is one warning line per attempt', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answerInTurn('hang', {})
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const messageId = 'slow-endpoint'
    await (await deliver(node.app.temporal, source, [destination], { messageId })).result()
    const lines = logLines.map((line) => JSON.parse(line) as Record<string, unknown>)
    const warnings = lines.filter((line) => line['destinationId'] === destination.id)
    expect(warnings).toMatchObject([
      {
        msg: 'delivery.attempted',
        endpointId: endpointIds(destination)[0],
        code: 'timeout',
        reason: `127.0.0.1:${receiver.port} did not answer within 5 seconds.`,
      },
    ])
  })
})

// Apart from the others: it takes a while until the endpoint has all the attempts that may be under way.
it(
  'an endpoint that hangs keeps nobody waiting, and gets each event when a place is free',
  { timeout: limit },
  async ({ expect }) => {
    await using hanging = await startReceiver()
    await using good = await startReceiver()
    const failed = new Set<string>()
    hanging.answer(({ body }) => {
      const { messageId } = JSON.parse(body.toString()) as { messageId: string }
      if (!messageId.startsWith('early-') || failed.has(messageId)) return 'hang'
      failed.add(messageId)
      return { status: 500 }
    })
    const source = await node.createSource()
    const any = await node.connect([source], [hanging.url, good.url])
    const all: Destination = { ...any, successPolicy: 'all' }
    const post = (messageId: string, destination: Destination, windowMs = 60_000) =>
      deliver(node.app.temporal, source, [destination], { messageId, retry: { windowMs } })
    const received = (messageId: string): number[] =>
      [hanging, good].map(
        ({ requests }) => requests.filter(({ body }) => body.toString().includes(`"${messageId}"`)).length,
      )
    await Promise.all(Array.from({ length: places }, (_, index) => post(`early-${index}`, all)))
    await hanging.received(2 * places, limit)
    // The last one of them waits in line: the host has no place for it.
    await Promise.all(Array.from({ length: places }, (_, index) => post(`first-${index}`, any)))
    await hanging.received(3 * places - 1, limit)
    await sleep(hangsAfterMs)

    let round = 0
    const named = (name: string): string => `${name}-${round}`
    const postAll = async () => {
      round++
      const posted = {
        late: await post(named('late'), any),
        waiting: await post(named('waiting'), all),
        inVain: await post(named('in-vain'), all, 1_000),
      }
      const names = ['late', 'waiting', 'in-vain'].map(named)
      await until('the good endpoint has them', () => names.every((name) => received(name)[1] === 1))
      const isKeptAway = (): boolean => names.every((name) => received(name)[0] === 0)
      if (!isKeptAway()) return { ...posted, outcome: undefined, isKeptAway: false }
      await untilOutcome(posted.late, 'delivered')
      await posted.inVain.result().catch(() => undefined)
      const outcome = await outcomeAttribute(posted.waiting)
      return { ...posted, outcome, isKeptAway: isKeptAway() }
    }
    let posted = await postAll()
    // On a slow machine attempts may have ended meanwhile, and left their places to these: then others are sent.
    while (!posted.isKeptAway && round < 10) posted = await postAll()
    const { late, waiting, inVain, isKeptAway } = posted
    expect(isKeptAway).toBe(true)
    // To wait for a turn is no retry.
    expect(posted.outcome).toBeUndefined()
    expect((await failureOf(inVain)).result.destinations[0]?.endpoints).toMatchObject([
      {
        outcome: 'failed',
        attempts: 0,
        // On a slow machine the first of those that hang have ended by now.
        reason: expect.stringMatching(/^not attempted: (endpoint saturated$|the endpoint is down since )/) as string,
      },
      { outcome: 'delivered', attempts: 1 },
    ])
    hanging.answer({})
    for (const [messageId, delivery] of [
      [named('late'), late],
      [named('waiting'), waiting],
    ] as const) {
      const { outcome, destinations } = await delivery.result()
      expect(outcome).toBe('delivered')
      // One each; on a machine that stood still an attempt may time out and be made again.
      const counts = received(messageId)
      expect(Math.min(...counts)).toBeGreaterThan(0)
      expect(destinations[0]?.endpoints).toMatchObject([
        { attempts: counts[0] },
        { outcome: 'delivered', attempts: counts[1] },
      ])
    }
    expect(received(named('in-vain'))[0]).toBe(0)
  },
)

describe.concurrent('the retry window', () => {
  it(
    'ends a delivery that did not succeed, with the reason per endpoint and every attempt counted',
    { timeout: limit },
    async ({ expect }) => {
      await using down = await startReceiver()
      await using gone = await startReceiver()
      down.answer({ status: 503, body: 'try later' })
      gone.answer({ status: 404 })
      const source = await node.createSource()
      const destination = await node.connect([source], [down.url, gone.url])
      const retry = { windowMs: 6_000, initialMs: 300, maxMs: 600 }
      const delivery = await deliver(node.app.temporal, source, [destination], { retry })
      const { message, result } = await failureOf(delivery)
      const [downId, goneId] = endpointIds(destination)
      expect(message).toBe(
        `${String(downId)}: The endpoint answered 503 Service Unavailable.\n${String(goneId)}: The endpoint answered 404 Not Found.`,
      )
      // The end of the window may meet one request, which nobody waits for.
      const answered = result.destinations[0]?.endpoints[0]?.attempts ?? 0
      expect([down.requests.length, down.requests.length - 1]).toContain(answered)
      expect(result.destinations[0]?.endpoints).toMatchObject([
        { outcome: 'failed', lastAttempt: { status: 503 } },
        { outcome: 'failed', attempts: 1, lastAttempt: { status: 404 } },
      ])
      expect(down.requests.length).toBeGreaterThan(1)
      const { startTime, closeTime } = await delivery.describe()
      const lastAttemptAt = down.requests.at(-1)?.arrivedAt.getTime() ?? 0
      expect(lastAttemptAt - startTime.getTime()).toBeLessThan(2 * retry.windowMs)
      expect((closeTime?.getTime() ?? 0) - startTime.getTime()).toBeGreaterThan(retry.windowMs / 2)
    },
  )

  it('leaves the endpoint alone between attempts until its very end', { timeout: limit }, async ({ expect }) => {
    await using down = await startReceiver()
    down.answer({ status: 503 })
    const source = await node.createSource()
    const destination = await node.connect([source], [down.url])
    const retry = { windowMs: 5_000, initialMs: 400, maxMs: 60_000 }
    await failureOf(await deliver(node.app.temporal, source, [destination], { retry }))
    const tolerated = 50
    for (const [index, gap] of gaps(down.requests).entries())
      expect(gap, `gap ${index + 1}`).toBeGreaterThan((retry.initialMs * 2 ** index) / 2 - tolerated)
  })

  it('keeps every attempt in the record that Temporal shows', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 500 }, { status: 501 }, { status: 502 }, { status: 503 }, { status: 504 }, {})
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const delivery = await deliver(node.app.temporal, source, [destination])
    const pendingStatuses = async (): Promise<(number | undefined)[]> => {
      const { raw } = await delivery.describe()
      const [pending] = opened(testPayloads, raw.pendingActivities ?? [])
      return first<AttemptRecord>(pending?.heartbeatDetails)?.attempts.map(({ status }) => status) ?? []
    }
    await until('a failed attempt stands in the pending activity', async () =>
      (await pendingStatuses()).join().startsWith('501,502'),
    )
    const result = await delivery.result()
    expect(result.destinations[0]?.endpoints).toMatchObject([{ outcome: 'delivered', attempts: 6 }])
  })
})

describe.concurrent('Retry-After', () => {
  it(
    'is obeyed after the first attempt, in seconds, and after a retry, as a date',
    { timeout: limit },
    async ({ expect }) => {
      await using receiver = await startReceiver()
      const inThreeSeconds = () => new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 3_000).toUTCString()
      receiver.answer((_request, index) => {
        if (index === 0) return { status: 429, headers: { 'retry-after': '2' } }
        return index === 1 ? { status: 503, headers: { 'retry-after': inThreeSeconds() } } : {}
      })
      const source = await node.createSource()
      const destination = await node.connect([source], [receiver.url])
      const delivery = await deliver(node.app.temporal, source, [destination])
      expect((await delivery.result()).outcome).toBe('delivered')
      const [afterFirst = 0, afterSecond = 0] = gaps(receiver.requests)
      expect(afterFirst).toBeGreaterThan(1_950)
      expect(afterSecond).toBeGreaterThan(2_950)
    },
  )

  it('beyond the window leaves room for several attempts', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    // The first pause is a timer of the workflow, the second one Temporal's between two attempts of an activity.
    const later = { status: 503, headers: { 'retry-after': '3600' } }
    receiver.answerInTurn(later, later, later, {})
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const windowMs = 12_000
    const delivery = await deliver(node.app.temporal, source, [destination], { retry: { windowMs } })
    const { destinations } = await delivery.result()
    expect(destinations[0]?.endpoints).toMatchObject([{ outcome: 'delivered', attempts: 4 }])
    // A quarter of what was left each time: the pauses of deliveries are shorter.
    const [first = 0, second = 0] = gaps(receiver.requests)
    expect(first).toBeGreaterThan(2_500)
    expect(second).toBeGreaterThan(1_000)
  })

  it('of a refusal that stays ends with the window', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503, headers: { 'retry-after': '3600' } })
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const delivery = await deliver(node.app.temporal, source, [destination], { retry: { windowMs: 9_000 } })
    const { result } = await failureOf(delivery)
    const [endpoint] = result.destinations[0]?.endpoints ?? []
    expect(endpoint?.outcome).toBe('failed')
    // The end of the window may meet one request.
    expect([receiver.requests.length - 1, receiver.requests.length]).toContain(endpoint?.attempts)
    expect(receiver.requests.length).toBeGreaterThanOrEqual(3)
  })
})

describe.concurrent('the same messageId', () => {
  it('is one delivery, sent at once or after the first was delivered', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const post = (messageId: string) =>
      node.post('/track', source.writeKey, { messageId, userId: 'u1', event: messageId })
    const answers = await Promise.all([post('same'), post('same'), post('same')])
    await deliveryOf(node.app.temporal, source, 'same').result()
    answers.push(await post('same'), await post('other'))
    expect(answers).toMatchObject(Array(5).fill({ status: 200, body: { success: true } }))
    await deliveryOf(node.app.temporal, source, 'other').result()
    expect(
      receiver.requests.map(({ headers, body }) => [headers['x-signature'], JSON.parse(body.toString()) as object]),
    ).toMatchObject([
      [undefined, { messageId: 'same' }],
      [undefined, { messageId: 'other' }],
    ])
  })
})

describe.concurrent('cancelling', () => {
  it('ends a delivery that waits', { timeout: limit }, async ({ expect }) => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const delivery = await deliver(node.app.temporal, source, [destination])
    await receiver.received(3)
    await delivery.cancel()
    await expect(delivery.result()).rejects.toThrow()
    expect((await delivery.describe()).status.name).toBe('CANCELLED')
  })

  it('reaches a request that runs', { timeout: limit }, async ({ expect }) => {
    // A cancellation takes seconds, so that on a slow machine the request may end by its own time limit of 5 s before: then
    // another one is cancelled.
    for (let round = 1; ; round++) {
      const messageId = `cancelled-in-flight-${round}`
      const requests = await cancelInFlight(messageId)
      const ownLimits = logLines.filter((line) => line.includes(`"${messageId}"`))
      if (ownLimits.length > 0 && round < 5) continue
      expect(ownLimits).toEqual([])
      expect(requests).toBe(2)
      return
    }

    /** Cancels a delivery in its second attempt. @returns requests of it */
    async function cancelInFlight(messageId: string): Promise<number> {
      let requests = 0
      const closedEarly: boolean[] = []
      const server = createServer((request, response) => {
        requests++
        request.resume()
        if (requests === 1) response.writeHead(503).end()
        else request.socket.once('close', () => closedEarly.push(!response.writableEnded))
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const source = await node.createSource()
      const destination = await node.connect([source], [`http://127.0.0.1:${(server.address() as AddressInfo).port}`])
      const delivery = await deliver(node.app.temporal, source, [destination], { messageId })
      await until('the retry runs', () => requests === 2)
      await delivery.cancel()
      await until('the request was ended', () => closedEarly.length === requests - 1)
      // It ends with its last attempt, which is counted.
      await until('it is cancelled', async () => (await delivery.describe()).status.name === 'CANCELLED')
      server.close()
      server.closeAllConnections()
      return requests
    }
  })
})
