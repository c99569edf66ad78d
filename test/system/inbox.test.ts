/** Events, and memberships of audiences, that come while Temporal is away: acknowledged, found, delivered once. */

import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import { addToInbox, refuseInInbox } from '../../src/db/inbox.ts'
import { findQueued } from '../../src/db/inbox-list.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { Page } from '../../src/db/page.ts'
import type { Audience } from '../../src/schemas/audience.ts'
import type { BulkSteering, Delivery, DeliveryDetail, Steerable, SteeringAction } from '../../src/schemas/delivery.ts'
import type { Overview } from '../../src/schemas/overview.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { EmbeddedServer } from '../../src/temporal/embedded-server.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createAudience, state, upload } from '../audiences/setup.ts'
import { startEmbeddedNode, type EmbeddedNode } from '../support/embedded-node.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { stopProcess } from '../support/stop-process.ts'
import { expectNoUntoldRepeats, messageIdsOf } from '../support/repeats.ts'
import { createNamespace, makeServerFolder, startServer } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 240_000
const limitMs = 100_000

/** First attempts that one endpoint may have in flight, and how long until it seems to hang: no first attempt waits longer. */
const firstTurns = 8
const hangsAfterMs = 700

type Api = Pick<TestApp, 'url' | 'api' | 'post'>

const track = (messageId: string) => ({ type: 'track', userId: 'u1', event: 'Kept', messageId })
const ids = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

/** Posts single events, some at a time. @returns status by message id */
async function postAll({ post }: Api, { writeKey }: Source, messageIds: string[]): Promise<Map<string, number>> {
  const answers = await Promise.all(
    messageIds.map(
      async (messageId) => [messageId, (await post('/track', writeKey, track(messageId))).status] as const,
    ),
  )
  return new Map(answers)
}

const postBatch = ({ post }: Api, { writeKey }: Source, messageIds: string[]) =>
  post('/batch', writeKey, { batch: messageIds.map(track) })

const listOf = async ({ api }: Api, query: string): Promise<Delivery[]> =>
  (await api<Page<Delivery>>('GET', `/deliveries?limit=200&${query}`)).body.items

/** A list, page by page. */
async function pagesOf({ api }: Api, query: string): Promise<Delivery[]> {
  const all: Delivery[] = []
  let cursor: string | null = ''
  while (cursor !== null && all.length < 1_000) {
    const path: string = `/deliveries?${query}${cursor && `&cursor=${cursor}`}`
    const { items, nextCursor } = (await api<Page<Delivery>>('GET', path)).body
    all.push(...items)
    cursor = nextCursor
  }
  return all
}

const steer = ({ api }: Api, id: string, action: SteeringAction, why?: string) =>
  api<{ success: boolean; became?: string }>('POST', `/deliveries/${encodeURIComponent(id)}/${action}`, { why })

/** Posts as many events as an endpoint that hangs may have in flight, and waits until it seems to. @returns message ids */
async function saturate(node: Api, source: Source, hanging: Receiver): Promise<string[]> {
  const firsts = ids('first', firstTurns)
  await postAll(node, source, firsts)
  await hanging.received(firsts.length)
  await sleep(hangsAfterMs)
  return firsts
}

/** Waits until these have arrived and nothing waits, then proves with one more event that none came twice. */
async function expectEachOnce(node: Api, receiver: Receiver, source: Source, expected: string[]): Promise<void> {
  await until('all have arrived', () => new Set(messageIdsOf(receiver)).size >= expected.length, limitMs)
  await until('the inbox is empty', async () => (await listOf(node, 'status=queued')).length === 0, limitMs)
  const last = `last-${randomUUID()}`
  expect((await postAll(node, source, [last])).get(last)).toBe(200)
  await until('one more arrives', () => messageIdsOf(receiver).includes(last), limitMs)
  expect([...new Set(messageIdsOf(receiver))].sort()).toEqual([...expected, last].sort())
  await expectNoUntoldRepeats(node, receiver, source.id)
}

/** Waits until Temporal knows that it has arrived: what it does not know when it is killed is sent again. */
const untilKnown = (node: Api, messageId: string): Promise<unknown> =>
  until(`${messageId} is delivered`, async () => {
    return (await listOf(node, `status=delivered&messageId=${messageId}`)).length > 0
  })

describe('a node whose own Temporal goes away', { timeout }, () => {
  let dataDir: string
  let node: EmbeddedNode
  let receiver: Receiver
  let source: Source
  let told: Receiver
  let audience: Audience
  beforeAll(async () => {
    dataDir = join(await makeServerFolder(), 'data')
    await mkdir(dataDir)
    node = await startEmbeddedNode(dataDir)
  })
  afterAll(() => node.stop())
  beforeEach(async () => {
    receiver = await startReceiver()
    source = await node.createSource()
    await node.connect([source], [receiver.url])
    told = await startReceiver()
    audience = await createAudience(node, [(await node.connect([], [told.url])).id])
  })
  afterEach(async () => {
    await receiver.close()
    await told.close()
  })

  it('takes, shows and later delivers what comes while Temporal hangs', async () => {
    await postAll(node, source, ['before'])
    await untilKnown(node, 'before')
    const pid = await node.temporalPid()
    await stopProcess(pid)
    const singles = ids('single', 40)
    const batch = ids('batch', 50)
    try {
      expect(new Set((await postAll(node, source, singles)).values())).toEqual(new Set([200]))
      expect((await postBatch(node, source, batch)).status).toBe(200)
      expect((await postAll(node, source, ['single-0', 'before'])).get('single-0')).toBe(200)

      const queued = await listOf(node, `status=queued&sourceId=${source.id}`)
      const waiting = queued.map(({ messageId }) => messageId)
      expect(waiting).toEqual(expect.arrayContaining([...batch, 'before']))
      const [found] = await listOf(node, 'status=queued&messageId=batch-7')
      expect(found).toMatchObject({ status: 'queued', messageId: 'batch-7', userId: 'u1', attempts: 0 })
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await expectEachOnce(node, receiver, source, ['before', ...singles, ...batch])
  })

  it('takes and delivers what comes while Temporal is killed and started again', async () => {
    process.kill(await node.temporalPid(), 'SIGKILL')
    const early = ids('early', 30)
    expect(new Set((await postAll(node, source, early)).values())).toEqual(new Set([200]))
    const late = ids('late', 50)
    expect((await postBatch(node, source, late)).status).toBe(200)
    await upload(node, audience, ['u1', 'u2'])
    await told.received(2, limitMs)
    expect(state(told.requests)).toEqual({ u1: true, u2: true })
    await expectEachOnce(node, receiver, source, [...early, ...late])
  })

  it('delivers what was acknowledged before both were killed, once, also when it is sent again', async () => {
    await postAll(node, source, ['direct'])
    await untilKnown(node, 'direct')
    const pid = await node.temporalPid()
    await stopProcess(pid)
    const kept = ids('kept', 100)
    expect((await postBatch(node, source, kept)).status).toBe(200)
    await upload(node, audience, ['u1', 'u2'])
    await node.kill()
    process.kill(pid, 'SIGKILL')
    node = await startEmbeddedNode(dataDir)
    const again = ['direct', ...kept.slice(0, 20)]
    expect(new Set((await postAll(node, source, again)).values())).toEqual(new Set([200]))
    await expectEachOnce(node, receiver, source, ['direct', ...kept])
    await told.received(2, limitMs)
    expect(state(told.requests)).toEqual({ u1: true, u2: true })
  })
})

describe.skipIf(findPostgres() === undefined)('nodes on PostgreSQL', { timeout }, () => {
  let temporal: EmbeddedServer
  let temporalFolder: string
  let postgres: PostgresServer
  beforeAll(async () => {
    temporalFolder = await makeServerFolder()
    ;[temporal, postgres] = await Promise.all([startServer(temporalFolder), startPostgres()])
  })
  afterAll(async () => {
    await postgres.stop()
    await temporal.stop()
  })

  const signalTemporal = async (signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> => {
    const pid = (await readNote(temporalFolder))?.pid ?? NaN
    if (signal === 'SIGSTOP') await stopProcess(pid)
    else process.kill(pid, signal)
  }

  interface Site {
    start(more?: Record<string, string>): Promise<TestApp>
    databaseUrl: string
  }
  const makeSite = async (server = postgres): Promise<Site> => {
    const [databaseUrl, namespace] = await Promise.all([server.createDatabase(), createNamespace(temporal.address)])
    return {
      databaseUrl,
      start: (more) =>
        startTestApp({
          namespace,
          logger: pino({ level: 'silent' }),
          environment: { TEMPORAL_ADDRESS: temporal.address, DATABASE_URL: databaseUrl, ...more },
        }),
    }
  }

  it('drain one inbox together, in order of arrival, each event once', async () => {
    const site = await makeSite()
    await using first = await site.start()
    await using receiver = await startReceiver()
    const source = await first.createSource()
    await first.connect([source], [receiver.url])
    // Started with the settings: while they are being made it may know the source and not yet its destination.
    await using second = await site.start()
    const sent = ids('shared', 150)
    expect((await postAll(second, source, ['probe'])).get('probe')).toBe(200)
    await receiver.received(1)
    await signalTemporal('SIGSTOP')
    try {
      for (let start = 0; start < sent.length; start += 25) {
        const node = start % 50 === 0 ? first : second
        expect((await postBatch(node, source, sent.slice(start, start + 25))).status).toBe(200)
      }
    } finally {
      await signalTemporal('SIGCONT')
    }
    await expectEachOnce(first, receiver, source, ['probe', ...sent])
    const arrived = messageIdsOf(receiver).filter((id) => id.startsWith('shared-'))
    const middle = (from: number): number =>
      sent.slice(from, from + 50).reduce((sum, id) => sum + arrived.indexOf(id), 0) / 50
    // Each node has 50 of the oldest for itself, and the one that is through with them first begins the youngest.
    expect(Math.min(middle(0), middle(50))).toBeLessThan(middle(100))
  })

  it('let sources take turns: a flood of one does not hold up the batch of another', async () => {
    const site = await makeSite()
    await using node = await site.start()
    await using receiver = await startReceiver()
    const [flooding, other] = [await node.createSource(), await node.createSource()]
    await node.connect([flooding, other], [receiver.url])
    const flood = ids('flood', 1_200)
    const batch = ids('batch', 20)
    // An endpoint that nothing is known of takes few attempts, and turns the others away for a second, whosever they are.
    await postAll(node, other, ['known'])
    await receiver.received(1)
    await signalTemporal('SIGSTOP')
    try {
      for (let start = 0; start < flood.length; start += 100)
        expect((await postBatch(node, flooding, flood.slice(start, start + 100))).status).toBe(200)
      expect((await postBatch(node, other, batch)).status).toBe(200)
    } finally {
      await signalTemporal('SIGCONT')
    }
    const isThere = (id: string): boolean => messageIdsOf(receiver).includes(id)
    await until('the batch has arrived', () => batch.every(isThere), limitMs)
    // Up to 400 were in the drainer's hands when the batch came; a share follows, and some that overtook its last ones.
    expect(flood.filter(isThere).length).toBeLessThan(flood.length / 2)
    // They are called off: nobody needs to wait for them.
    await node.api('POST', '/deletion-requests', { userIds: ['u1'], sourceIds: [flooding.id] })
  })

  it('start what goes to an endpoint that hangs behind all else, and at once when it answers again', async () => {
    const site = await makeSite()
    await using node = await site.start({ POSTRIDER_INBOX_MAX: '100' })
    await using hanging = await startReceiver()
    await using good = await startReceiver()
    hanging.answer(() => 'hang')
    const [bad, healthy, both] = [await node.createSource(), await node.createSource(), await node.createSource()]
    await node.connect([bad, both], [hanging.url])
    await node.connect([healthy, both], [good.url])
    const firsts = await saturate(node, bad, hanging)
    const late = ids('late', 60)
    expect((await postBatch(node, bad, late)).status).toBe(200)
    await postAll(node, healthy, ids('healthy', 5))
    await postAll(node, both, ['to-both'])
    await good.received(6, limitMs)
    const waiting = (await listOf(node, `status=queued&sourceId=${bad.id}`)).map(({ messageId }) => messageId)
    expect(waiting).toContain(late.at(-1))
    expect(await listOf(node, `status=queued&sourceId=${both.id}`)).toEqual([])
    // They leave half of the inbox to the others.
    await postAll(node, bad, ['beyond-half'])
    expect(await listOf(node, 'status=queued&messageId=beyond-half')).toEqual([])

    hanging.answer({})
    const sent = [...firsts, ...late, 'beyond-half']
    await until(
      'all are delivered',
      async () => (await listOf(node, `status=delivered&sourceId=${bad.id}`)).length === sent.length,
      limitMs,
    )
    expect([...new Set(messageIdsOf(hanging))].sort()).toEqual([...sent, 'to-both'].sort())
    expect(await listOf(node, 'status=queued')).toEqual([])
  })

  it('start an event of the inbox that is retried, once', async () => {
    const site = await makeSite()
    await using node = await site.start()
    await using hanging = await startReceiver()
    hanging.answer(() => 'hang')
    const source = await node.createSource()
    await node.connect([source], [hanging.url])
    await saturate(node, source, hanging)
    await postBatch(node, source, ids('late', 60))
    const [last] = await listOf(node, `status=queued&sourceId=${source.id}`)
    if (last === undefined) throw new Error('none waits')
    expect((await steer(node, last.id, 'retry')).body).toEqual({ success: true, became: 'started' })
    await until('it has started', async () => {
      return (await listOf(node, `status=delivering&messageId=${last.messageId}`))[0]
    })
    expect((await steer(node, last.id, 'cancel')).body).toEqual({ success: true, became: 'cancelling' })
    await until('it is cancelled', async () => (await listOf(node, `status=cancelled&messageId=${last.messageId}`))[0])
  })

  it('do not send what is cancelled in the inbox, and say what became of it', async () => {
    const site = await makeSite()
    await using node = await site.start()
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const idOf = (messageId: string): string => eventWorkflowId(source.id, messageId)
    const early = ids('early', 20)
    const late = ids('late', 80)
    await signalTemporal('SIGSTOP')
    try {
      expect((await postBatch(node, source, early)).status).toBe(200)
      const why = 'sent by mistake'
      expect((await steer(node, idOf('early-19'), 'cancel', why)).body).toEqual({ success: true, became: 'cancelled' })
      expect((await steer(node, idOf('early-18'), 'retry')).body).toEqual({ success: true, became: 'queued' })
      expect((await steer(node, idOf('early-19'), 'retry')).status).toBe(409)
      expect((await postBatch(node, source, late)).status).toBe(200)
    } finally {
      await signalTemporal('SIGCONT')
    }
    // The drainer starts them at the same moment.
    const answers = new Map(
      await Promise.all(
        late.slice(0, 40).map(async (messageId): Promise<[string, string]> => {
          const { status, body } = await steer(node, idOf(messageId), 'cancel')
          return [messageId, status === 200 ? (body.became ?? '') : String(status)]
        }),
      ),
    )
    expect(new Set(answers.values())).toContain('cancelled')
    const never = ['early-19', ...late.filter((messageId) => answers.get(messageId) === 'cancelled')]
    const certain = [...early, ...late].filter((messageId) => !answers.has(messageId) && !never.includes(messageId))
    await until('the others have arrived', () => certain.every((id) => messageIdsOf(receiver).includes(id)), limitMs)
    await until('the inbox is empty', async () => (await listOf(node, 'status=queued')).length === 0, limitMs)
    expect((await postAll(node, source, ['afterwards'])).get('afterwards')).toBe(200)
    await until('one more arrives', () => messageIdsOf(receiver).includes('afterwards'), limitMs)
    expect(never.filter((id) => messageIdsOf(receiver).includes(id))).toEqual([])
    await expectNoUntoldRepeats(node, receiver, source.id)

    // What ended in the inbox stands among the others, in the order in which they ended, and on one page each.
    const all = await until('all have ended', async () => {
      const listed = await pagesOf(node, `sourceId=${source.id}&limit=17`)
      return listed.every(({ endedAt }) => endedAt !== null) && listed
    })
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
    expect(all).toHaveLength(101)
    const ends = all.map(({ endedAt }) => endedAt ?? '')
    expect(ends).toEqual(ends.toSorted().toReversed())
    expect(all[0]).toMatchObject({ messageId: 'afterwards', status: 'delivered' })

    const cancelled = await listOf(node, `status=cancelled&sourceId=${source.id}`)
    expect(cancelled.map(({ messageId }) => messageId)).toEqual(expect.arrayContaining(never))
    const path = `/deliveries/${encodeURIComponent(idOf('early-19'))}`
    const { body: detail } = await node.api<DeliveryDetail>('GET', path)
    expect(detail).toMatchObject({ status: 'cancelled', attempts: 0, timeline: [] })
    expect(detail.steering).toMatchObject([{ action: 'cancel', why: 'sent by mistake' }])
    expect((await steer(node, idOf('early-19'), 'cancel')).status).toBe(409)
    expect((await steer(node, idOf('early-19'), 'redeliver')).status).toBe(200)
    await until('it is sent again', () => messageIdsOf(receiver).includes('early-19'), limitMs)
  })

  it('cancel, and send again, what waits in the inbox with all that match, and count it', async () => {
    const site = await makeSite()
    await using node = await site.start({ POSTRIDER_RETRY_WINDOW: '4h' })
    await using hanging = await startReceiver()
    hanging.answer(() => 'hang')
    const [started, waiting, kept] = [await node.createSource(), await node.createSource(), await node.createSource()]
    await node.connect([started, waiting, kept], [hanging.url])
    const firsts = await saturate(node, started, hanging)
    const behind = ids('behind', 40)
    const late = ids('late', 150)
    const others = ids('other', 5)
    expect((await postBatch(node, started, behind)).status).toBe(200)
    for (const some of [late.slice(0, 75), late.slice(75)])
      expect((await postBatch(node, waiting, some)).status).toBe(200)
    expect((await postBatch(node, kept, others)).status).toBe(200)
    const count = async (query: string): Promise<number> =>
      (await node.api<{ count: number }>('GET', `/deliveries/count?${query}`)).body.count
    const bulk = async (action: SteeringAction, filter: object): Promise<BulkSteering> => {
      const { status, body } = await node.api<BulkSteering>('POST', `/deliveries/${action}`, filter)
      expect(status).toBe(202)
      return until(
        `${action} is done`,
        async () => {
          const now = await node.api<BulkSteering>('GET', `/deliveries/bulk/${body.id}`)
          return now.body.status !== 'running' && now.body
        },
        limitMs,
      )
    }

    // The list, its count, what is told before, and what is done are about the same ones.
    const ofWaiting = `sourceId=${waiting.id}`
    await until('all are listed', async () => (await listOf(node, ofWaiting)).length === late.length, limitMs)
    expect(await count(ofWaiting)).toBe(late.length)
    const { body: told } = await node.api<Steerable>('GET', `/deliveries/steerable?action=cancel&${ofWaiting}`)
    expect(told).toEqual({ matched: late.length, steerable: late.length, obstacles: [] })
    const why = 'sent by mistake'
    const cancelled = await bulk('cancel', { sourceId: waiting.id, why })
    expect(cancelled).toMatchObject({ status: 'completed', matched: late.length, done: late.length, failed: 0 })
    await until(
      'all are cancelled',
      async () => (await count(`${ofWaiting}&status=cancelled`)) === late.length,
      limitMs,
    )

    // Those that wait alone.
    const { done } = await bulk('cancel', { sourceId: started.id, status: 'queued' })
    expect(done).toBeGreaterThan(0)
    expect(await count(`sourceId=${started.id}&status=queued`)).toBe(0)
    expect(await count(`sourceId=${started.id}&status=cancelled`)).toBeLessThanOrEqual(behind.length)
    expect(await node.api('POST', '/deliveries/retry', { status: 'queued' })).toMatchObject({
      status: 400,
      body: { code: 'bad_request', path: 'status' },
    })

    // They wait no longer, although their endpoint takes nothing.
    await until(
      'only the others wait',
      async () => (await node.api<Overview>('GET', '/overview')).body.inboxDepth <= others.length,
      limitMs,
    )
    const sent = new Set(messageIdsOf(hanging))
    const never = late.filter((id) => !sent.has(id))
    expect(never.length).toBeGreaterThan(late.length / 2)
    hanging.answer({})
    await until(
      'the others have arrived',
      () => [...firsts, ...others].every((id) => messageIdsOf(hanging).includes(id)),
      limitMs,
    )
    await until(
      'all of them are delivered',
      async () => (await count(`sourceId=${kept.id}&status=delivered`)) === others.length,
      limitMs,
    )
    expect(never.filter((id) => messageIdsOf(hanging).includes(id))).toEqual([])
    const path = `/deliveries/${encodeURIComponent(eventWorkflowId(waiting.id, never[0] ?? ''))}`
    expect((await node.api<DeliveryDetail>('GET', path)).body).toMatchObject({
      status: 'cancelled',
      attempts: 0,
      steering: [{ action: 'cancel', by: 'admin', why }],
    })

    const ofCancelled = { sourceId: waiting.id, status: 'cancelled' }
    const query = new URLSearchParams({ ...ofCancelled, action: 'redeliver' }).toString()
    expect((await node.api<Steerable>('GET', `/deliveries/steerable?${query}`)).body).toEqual({
      matched: late.length,
      steerable: late.length,
      obstacles: [],
      redelivered: 0,
    })
    expect(await bulk('redeliver', ofCancelled)).toMatchObject({ matched: late.length, done: late.length, failed: 0 })
    await until('all are sent', () => late.every((id) => messageIdsOf(hanging).includes(id)), limitMs)
  })

  it('go on after a start that Temporal refuses for good, and show it as failed', async () => {
    const site = await makeSite()
    await using node = await site.start()
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const endpointIds = destination.settings.webhooks.map(({ id }) => id)
    const unusable = 'too large'
    const input = (messageId: string) => ({
      sourceId: source.id,
      messageId,
      message: {
        type: 'track' as const,
        timestamp: new Date().toISOString(),
        userId: 'u1',
        messageId,
        // More than Temporal takes in one piece.
        ...(messageId === unusable && { properties: { text: 'x'.repeat(2_500_000) } }),
      },
      targets: [{ destinationId: destination.id, endpointIds, successPolicy: 'any' as const }],
      retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000 },
    })
    const database = openPostgres(site.databaseUrl, pino({ level: 'silent' }))
    await addToInbox(
      database,
      [unusable, 'good'].map((id) => ({ input: input(id), receivedAt: new Date() })),
    )
    await database.close()
    await receiver.received(1, limitMs)
    expect([...new Set(messageIdsOf(receiver))]).toEqual(['good'])
    const [failed, ...others] = await until('it stands failed', async () => {
      const failures = await listOf(node, `status=failed&sourceId=${source.id}`)
      return failures.length > 0 && failures
    })
    expect(others).toEqual([])
    expect(failed).toMatchObject({ status: 'failed', messageId: unusable })
    expect(failed?.reason).toMatch(/length|long|exceed/i)
    expect(await listOf(node, 'status=queued')).toEqual([])
    expect((await postAll(node, source, ['next'])).get('next')).toBe(200)
    await untilKnown(node, 'next')
    const newestFirst = await listOf(node, `sourceId=${source.id}`)
    expect(newestFirst).toHaveLength(3)
    expect(newestFirst[0]?.messageId).toBe('next')
    expect(newestFirst.filter(({ endedAt }) => endedAt === null)).toEqual([])
  })

  it('start an event that was refused when it is retried', async () => {
    const site = await makeSite()
    await using node = await site.start()
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const endpointIds = destination.settings.webhooks.map(({ id }) => id)
    const input = {
      sourceId: source.id,
      messageId: 'refused',
      message: { type: 'track' as const, timestamp: new Date().toISOString(), userId: 'u1', messageId: 'refused' },
      targets: [{ destinationId: destination.id, endpointIds, successPolicy: 'any' as const }],
      retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000 },
    }
    const database = openPostgres(site.databaseUrl, pino({ level: 'silent' }))
    const id = eventWorkflowId(source.id, 'refused')
    await database.transaction(async (tx) => {
      await addToInbox(tx, [{ input, receivedAt: new Date() }])
      const event = await findQueued(tx, id)
      await refuseInInbox(tx, event?.seq ?? '', 'BlobSizeLimitError')
    })
    await database.close()
    expect(await listOf(node, 'status=failed')).toMatchObject([{ id, reason: 'BlobSizeLimitError' }])
    expect((await steer(node, id, 'retry')).body).toEqual({ success: true, became: 'started' })
    await receiver.received(1, limitMs)
    await until('nothing is failed', async () => (await listOf(node, 'status=failed')).length === 0)
  })

  it('turn events away with Retry-After when the inbox is full, and take them when it is drained', async () => {
    const site = await makeSite()
    await using node = await site.start({ POSTRIDER_INBOX_MAX: '50' })
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await signalTemporal('SIGSTOP')
    try {
      expect((await postBatch(node, source, ids('many', 60))).status).toBe(429)
      expect((await postBatch(node, source, ids('few', 40))).status).toBe(200)
      const response = await fetch(`${node.url}/v1/batch`, {
        method: 'POST',
        body: JSON.stringify({ writeKey: source.writeKey, batch: ids('more', 20).map(track) }),
      })
      expect(response.status).toBe(429)
      expect(await response.json()).toMatchObject({ success: false, code: 'inbox_full' })
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    } finally {
      await signalTemporal('SIGCONT')
    }
    await until('there is room', async () => (await postBatch(node, source, ids('more', 20))).status === 200, limitMs)
    await expectEachOnce(node, receiver, source, [...ids('few', 40), ...ids('more', 20)])
  })

  it('accept without a database what Temporal takes, and say 503 when nothing can hold it', async () => {
    const server = await startPostgres()
    const site = await makeSite(server)
    await using node = await site.start()
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await server.stop()

    const singles = ids('single', 40)
    expect(new Set((await postAll(node, source, singles)).values())).toEqual(new Set([200]))
    const batch = ids('batch', 40)
    expect((await postBatch(node, source, batch)).status).toBe(200)

    await signalTemporal('SIGSTOP')
    try {
      const lost = await postAll(node, source, ids('lost', 20))
      expect(new Set(lost.values())).toEqual(new Set([503]))
      const response = await fetch(`${node.url}/v1/track`, {
        method: 'POST',
        body: JSON.stringify({ writeKey: source.writeKey, ...track('lost-too') }),
      })
      expect(response.status).toBe(503)
      expect(await response.json()).toMatchObject({ success: false, code: 'unavailable' })
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await fetch(`${node.url}/readyz`)).status).toBe(503)
    } finally {
      await signalTemporal('SIGCONT')
    }
    await until('Temporal takes events again', async () => {
      return (await postAll(node, source, ['again'])).get('again') === 200
    })
    const accepted = [...singles, ...batch, 'again']
    await until('all have arrived', () => accepted.every((id) => messageIdsOf(receiver).includes(id)), limitMs)
    // What got a 503 may have started all the same, never twice.
    await expectNoUntoldRepeats(node, receiver, source.id)
  })
})
