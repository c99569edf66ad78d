import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Activity } from '../../src/schemas/activity.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { LiveEvent } from '../../src/schemas/live-event.ts'
import type { Overview } from '../../src/schemas/overview.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { CatalogItem, Onboarding, Status } from '../../src/schemas/system.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

let node: TestApp
let receiver: Receiver
beforeAll(async () => {
  node = await startTestApp()
  receiver = await startReceiver()
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

const overview = async (query = '') => (await node.api<Overview>('GET', `/overview${query}`)).body

describe('the overview', () => {
  let source: Source
  let healthy: Destination
  let broken: Destination
  let figures: Overview

  beforeAll(async () => {
    const before = (await node.api<Onboarding>('GET', '/onboarding')).body
    expect(before).toEqual({
      sourceCreated: false,
      destinationConnected: false,
      firstEventReceived: false,
      firstEventDelivered: false,
    })
    source = await node.createSource('Watched')
    const other = await node.createSource('Unconnected')
    healthy = await node.connect([source], [receiver.url])
    receiver.answer(({ path }) => ({ status: path === '/gone' ? 404 : 200 }))
    broken = await node.connect([source], [`${receiver.url}/gone`])
    for (let i = 0; i < 3; i++) await node.post('/track', source.writeKey, { userId: 'u', event: 'Seen' })
    await node.post('/track', source.writeKey, { messageId: 'same', userId: 'u', event: 'Seen' })
    await node.post('/track', source.writeKey, { messageId: 'same', userId: 'u', event: 'Seen' })
    await node.post('/track', source.writeKey, { userId: 'u', event: 'No', integrations: { All: false } })
    await node.post('/track', source.writeKey, { userId: 'u' })
    await node.post('/track', other.writeKey, { userId: 'u', event: 'Nowhere' })
    await node.post('/track', 'unknown-key', { userId: 'u', event: 'Refused' })
    figures = await until('all figures', async () => {
      const now = await overview()
      const { received, partly_delivered: partly } = now.funnel
      return received === 9 && partly === 4 && now.failingEndpoints[0]?.failed === 4 && now
    })
  })

  it('tells what came in and what became of it, with named reasons', () => {
    expect(figures.funnel).toEqual({
      received: 9,
      rejected: 2,
      filtered: 1,
      noDestination: 1,
      suppressed: 0,
      duplicate: 1,
      accepted: 5,
      queued: 0,
      delivering: 0,
      retrying: 0,
      held: 0,
      delivered: 0,
      partly_delivered: 4,
      failed: 0,
      discarded: 0,
      cancelled: 0,
    })
    expect(figures.rejectedReasons).toEqual([
      { reason: 'event_not_defined', events: 1 },
      { reason: 'unknown_write_key', events: 1 },
    ])
    expect(figures.inboxDepth).toBe(0)
  })

  it('names the endpoints that fail now, with the reason and since when', () => {
    expect(figures.failingEndpoints).toEqual([
      {
        destinationId: broken.id,
        endpointId: broken.settings.webhooks[0]?.id,
        url: `${receiver.url}/gone`,
        reason: expect.stringContaining('404') as string,
        isFinal: true,
        since: expect.any(String) as string,
        failed: 4,
      },
    ])
    expect(Date.now() - Date.parse(figures.failingEndpoints[0]?.since ?? '')).toBeLessThan(60_000)
  })

  it('tells how much each source sent and each destination got, and when it did last', async () => {
    const { sources, destinations } = await until('all attempts', async () => {
      const { body } = await node.api<Activity>('GET', '/activity')
      const isWhole = ({ destinationId, delivered }: Activity['destinations'][number]) =>
        destinationId === healthy.id && delivered === 4
      return body.destinations.some(isWhole) && body
    })
    const sent = sources.find(({ sourceId }) => sourceId === source.id)
    // As the receiver and the sender have it: five accepted, one filtered, one refused, and a repeat that counts once more.
    expect(sent).toMatchObject({ received: 7, rejected: 1 })
    expect(Date.parse(sent?.lastEventAt ?? '')).toBeGreaterThan(Date.now() - 10 * 60_000)
    const got = (path: string) => receiver.requests.filter((request) => request.path === path).length
    const of = ({ id }: Destination) => destinations.find(({ destinationId }) => destinationId === id)
    expect(of(healthy)).toMatchObject({ delivered: got('/'), failed: 0 })
    expect(of(broken)).toMatchObject({ delivered: 0, failed: got('/gone') })
  })

  it('shows the same over time, in steps of one length', async () => {
    const { series } = await until('all attempts', async () => {
      const now = await overview()
      return total(now.series, 'delivered') === 4 && total(now.series, 'failed') === 4 && now
    })
    expect(series.length).toBeGreaterThan(90)
    expect(series.length).toBeLessThanOrEqual(125)
    expect(total(series, 'received')).toBe(9)
    expect(total(series, 'rejected')).toBe(2)
    const steps = new Set(series.slice(1).map(({ at }, i) => Date.parse(at) - Date.parse(series[i]?.at ?? '')))
    expect([...steps]).toEqual([15 * 60_000])
  })

  it('tells how long deliveries take', async () => {
    const { latency } = await overview(`?destinationId=${healthy.id}`)
    expect(latency.p50Ms).toBeGreaterThan(0)
    expect(latency.p95Ms).toBeGreaterThanOrEqual(latency.p50Ms ?? Infinity)
    expect((await overview(`?destinationId=${broken.id}`)).latency).toEqual({ p50Ms: null, p95Ms: null })
  })

  it('counts latency from the moment the event was accepted, a pause included, and the attempt alone beside it', async () => {
    const source = await node.createSource('Held')
    const destination = await node.connect([source], [receiver.url])
    const steer = (paused: boolean) => node.api('PATCH', `/destinations/${destination.id}`, { paused })
    await steer(true)
    const path = `/held-${destination.id}`
    await node.api('PATCH', `/destinations/${destination.id}`, {
      settings: { webhooks: [{ url: `${receiver.url}${path}` }] },
    })
    const postedAt = Date.now()
    await node.post('/track', source.writeKey, { userId: 'u', event: 'Held' })
    await until('it has waited for 2 s and more', () => Date.now() - postedAt > 2_200)
    await steer(false)
    const arrived = await until('it arrives', () => receiver.requests.find((request) => request.path === path))
    const tookMs = arrived.arrivedAt.getTime() - postedAt
    const { latency, attemptDuration } = await until('its figures', async () => {
      const now = await overview(`?destinationId=${destination.id}`)
      return now.latency.p50Ms !== null && now
    })
    // A histogram has them, the first bucket of which it may be begins at 2 s.
    expect(tookMs).toBeGreaterThan(2_000)
    expect(latency.p50Ms).toBeGreaterThan(2_000)
    expect(attemptDuration.p95Ms).toBeLessThan(tookMs)
  })

  it('counts for one source, one destination and one range', async () => {
    const ofSource = await overview(`?sourceId=${source.id}`)
    expect(ofSource.funnel).toMatchObject({ received: 7, noDestination: 0, partly_delivered: 4 })
    const ofHealthy = await overview(`?destinationId=${healthy.id}`)
    expect(ofHealthy.failingEndpoints).toEqual([])
    expect(total(ofHealthy.series, 'failed')).toBe(0)
    const day = 24 * 3_600_000
    const range = [3 * day, 2 * day].map((ago) => new Date(Date.now() - ago).toISOString())
    const earlier = await overview(`?since=${range[0]}&until=${range[1]}`)
    expect(earlier.funnel).toMatchObject({ received: 0, failed: 0 })
  })

  it('refuses a range that is empty or longer than figures are kept, and members that it does not know', async () => {
    const now = new Date().toISOString()
    const refusals = [`?since=${now}&until=${now}`, '?since=2020-01-01T00:00:00Z', '?region=eu']
    const answers = await Promise.all(refusals.map((query) => node.api<{ path: string }>('GET', `/overview${query}`)))
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
    expect(answers.map(({ body }) => body.path)).toEqual(['since', 'since', 'region'])
  })

  it('still counts what a destination got at a URL that was corrected since', async () => {
    await using first = await startReceiver()
    const moving = await node.createSource('Moving')
    const { id, settings } = await node.connect([moving], [first.url])
    await node.post('/track', moving.writeKey, { userId: 'u', event: 'Before' })
    const [request] = await first.received(1)
    const figures = async () => {
      const { body } = await node.api<Activity>('GET', '/activity')
      return body.destinations.find(({ destinationId }) => destinationId === id)
    }
    const madeAt = request?.arrivedAt.getTime() ?? NaN
    const last = (told: Awaited<ReturnType<typeof figures>>): number => Date.parse(told?.lastAttemptAt ?? '')
    const before = await until('its request is counted, and its time is known', async () => {
      const now = await figures()
      return now?.delivered === 1 && last(now) >= madeAt - 1_000 && now
    })
    const webhooks = [{ id: settings.webhooks[0]?.id, url: `${first.url}/corrected` }]
    await node.api('PATCH', `/destinations/${id}`, { settings: { webhooks } })
    const after = await figures()
    expect(after).toMatchObject({ delivered: 1, failed: 0 })
    const [was, is] = [last(before), last(after)]
    expect(was).toBeLessThan(madeAt + 10_000)
    // Once what was observed at the earlier URL is gone, its minute is known.
    expect([was, Math.floor(was / 60_000) * 60_000]).toContain(is)
    expect(is).toBeLessThanOrEqual(Math.min(Date.now(), (was ?? 0) + 60_000))
  })

  it('has an endpoint that is well again on its list no more', async () => {
    receiver.answer({ status: 200 })
    await node.post('/track', source.writeKey, { userId: 'u', event: 'Again' })
    await until('no failing endpoint', async () => (await overview()).failingEndpoints.length === 0)
  })

  it('ticks the first steps once they really happened', async () => {
    await until('all steps', async () => {
      const { body } = await node.api<Onboarding>('GET', '/onboarding')
      return Object.values(body).every((done) => done)
    })
  })
})

const total = (series: Overview['series'], member: Exclude<keyof Overview['series'][number], 'at'>): number =>
  series.reduce((sum, step) => sum + step[member], 0)

describe('the status', () => {
  it('says what runs, where, and how it does', async () => {
    const { body } = await node.api<Status>('GET', '/status')
    expect(body).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
      nodeVersion: process.version,
      temporal: { namespace: node.namespace, healthy: true, uiUrl: null, serverVersion: expect.any(String) as string },
      database: { kind: 'pglite', healthy: true, version: expect.stringMatching(/^\d+/) as string },
      retentionMs: 24 * 3_600_000,
      retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000 },
      inboxDepth: 0,
      ingestUrl: null,
      ingestPort: null,
    })
  })
})

describe('the catalog', () => {
  it('has the destination Webhooks', async () => {
    const { body } = await node.api<{ items: CatalogItem[] }>('GET', '/catalog')
    expect(body.items).toMatchObject([{ name: 'Webhooks', connectionMode: 'cloud', sourceTypes: 'all' }])
    expect(body.items[0]?.eventTypes).toContain('track')
  })
})

describe('the live stream of a source', () => {
  const open = async (sourceId: string) => {
    const abort = new AbortController()
    const response = await fetch(`${node.url}/api/v1/sources/${sourceId}/live`, {
      headers: { authorization: `Bearer ${adminToken}` },
      signal: abort.signal,
    })
    return { response, close: () => abort.abort() }
  }

  /** Reads events until there are `count`. */
  async function read(body: ReadableStream<Uint8Array> | null, count: number): Promise<LiveEvent[]> {
    const events: LiveEvent[] = []
    let text = ''
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk).toString()
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      const data = blocks.filter((block) => block.startsWith('data: '))
      events.push(...data.map((block) => JSON.parse(block.slice(6)) as LiveEvent))
      if (events.length >= count) break
    }
    return events
  }

  it('shows each incoming event with its fate, and no event of another source', async () => {
    const source = await node.createSource('Live')
    const other = await node.createSource('Other')
    await node.connect([source, other], [receiver.url])
    const { response, close } = await open(source.id)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    await node.post('/track', other.writeKey, { userId: 'u', event: 'Elsewhere' })
    await node.post('/track', source.writeKey, { messageId: 'm1', userId: 'u1', event: 'Shown' })
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Out', integrations: { All: false } })
    await node.post('/track', source.writeKey, { userId: 'u1' })
    await node.post('/batch', source.writeKey, {
      batch: [
        { type: 'page', userId: 'u2', name: 'Home' },
        { type: 'group', userId: 'u2' },
      ],
    })
    const events = await read(response.body, 5)
    close()
    expect(events).toMatchObject([
      { type: 'track', event: 'Shown', messageId: 'm1', fate: 'accepted', deliveryId: `event/${source.id}/m1` },
      { type: 'track', event: 'Out', userId: 'u1', fate: 'filtered' },
      { type: 'track', event: null, fate: 'rejected', reason: 'event_not_defined' },
      { type: 'group', userId: 'u2', fate: 'rejected', reason: 'id_required' },
      { type: 'page', event: 'Home', userId: 'u2', fate: 'accepted' },
    ])
  })

  it('is there for as many as a node has places, and again when one leaves', async () => {
    const source = await node.createSource('Crowded')
    const streams = await Promise.all(Array.from({ length: 50 }, () => open(source.id)))
    expect(streams.map(({ response }) => response.status)).toEqual(streams.map(() => 200))
    const refused = await open(source.id)
    expect(refused.response.status).toBe(429)
    expect(refused.response.headers.get('retry-after')).toBe('30')
    for (const { close } of streams) close()
    await until('a free place', async () => {
      const { response, close } = await open(source.id)
      close()
      return response.status === 200
    })
    expect((await open('src_none')).response.status).toBe(404)
  })
})

describe('the description of the API', () => {
  interface Operation {
    responses: Record<string, { content?: Record<string, { schema: unknown }> }>
    security?: unknown
  }

  it('has every route with its answers', async () => {
    const document = (await (await fetch(`${node.url}/openapi.json`)).json()) as {
      openapi: string
      paths: Record<string, Record<string, Operation>>
    }
    expect(document.openapi).toBe('3.1.0')
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, path, ...operation })),
    )
    const undescribed = operations.filter(({ responses }) =>
      Object.values(responses).every(({ content }) => content === undefined),
    )
    expect(undescribed.map(({ name }) => name)).toEqual([])
    const open = operations.filter(({ path, security }) => path.startsWith('/api/v1/') && security === undefined)
    expect(open.map(({ name }) => name)).toEqual(['post /api/v1/session'])
    expect(operations.length).toBeGreaterThan(40)
  })

  it('is shown as a page that loads nothing from elsewhere and runs no inline script', async () => {
    const page = await fetch(`${node.url}/docs`)
    expect(page.status).toBe(200)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/default-src 'none'; script-src 'self';/)
    expect(policy).not.toContain('upgrade-insecure-requests')
    expect(policy).not.toMatch(/script-src[^;]*'unsafe-inline'/)
    const html = await page.text()
    expect(html).toContain('swagger-ui')
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//)
  })
})
