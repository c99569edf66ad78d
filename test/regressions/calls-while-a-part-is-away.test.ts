/** Symptom: with Temporal or the database frozen, calls of the management API were answered 500 after 10 to 30 seconds or not at
 *  all, and the web app showed the outline of a page for ever.
 *  Cause: calls to Temporal had no limit of ours, and failures of a part looked like faults of the server.
 *  Consequence: no call waits for a part that does not answer; it is answered 503 `unavailable`, which names the part. An event
 *  that waits in the inbox is found all the same. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import type { Audience } from '../../src/schemas/audience.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Overview } from '../../src/schemas/overview.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

interface Refusal {
  code: string
  message: string
}

describe('a node whose Temporal is frozen', () => {
  let way: TcpRelay
  let node: TestApp
  let receiver: Receiver
  let source: Source
  let audience: Audience

  beforeAll(async () => {
    way = await startTcpRelay(Number(temporalAddress().split(':')[1]))
    node = await startTestApp({
      environment: { TEMPORAL_ADDRESS: `127.0.0.1:${way.port}` },
      logger: pino({ level: 'silent' }),
    })
    receiver = await startReceiver()
    source = await node.createSource()
    await node.connect([source], [receiver.url])
    audience = (
      await node.api<Audience>('POST', '/audiences', {
        name: 'Fetched',
        membership: { kind: 'http', url: 'http://127.0.0.1:9/members' },
        schedule: { interval: '6h' },
      })
    ).body
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Before', messageId: 'before' })
    await receiver.received(1)
    way.freeze()
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Meanwhile', messageId: 'meanwhile' })
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Aside', messageId: 'aside' })
  })
  afterAll(async () => {
    way.open()
    await node[Symbol.asyncDispose]()
    await Promise.all([receiver.close(), way[Symbol.asyncDispose]()])
  })

  const delivery = (messageId: string): string => `/deliveries/${encodeURIComponent(`event/${source.id}/${messageId}`)}`

  it('says so for whatever asks Temporal', async () => {
    const calls: [method: string, path: string, body?: unknown][] = [
      ['GET', '/deliveries'],
      ['GET', '/deliveries/count'],
      ['GET', delivery('before')],
      ['GET', '/deliveries/bulk/no-such-steering'],
      ['POST', `${delivery('before')}/redeliver`, {}],
      ['POST', `${delivery('before')}/cancel`, {}],
      ['POST', '/deliveries/retry', { status: 'retrying' }],
      ['POST', `/audiences/${audience.id}/pause`],
      ['PATCH', `/audiences/${audience.id}`, { schedule: { interval: '12h' } }],
      ['POST', `/audiences/${audience.id}/backfill`, { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }],
    ]
    const answers = await Promise.all(calls.map((call) => node.api<Refusal>(...call)))
    for (const [index, { status, body }] of answers.entries()) {
      const told = `${calls[index]?.slice(0, 2).join(' ')}: ${JSON.stringify(body)}`
      expect([status, body.code], told).toEqual([503, 'unavailable'])
      expect(body.message, told).toMatch(/^Temporal is away: /)
    }
  })

  it('finds an event that waits in the inbox, and counts what it can', async () => {
    const list = await node.api<{ items: Delivery[] }>('GET', '/deliveries?messageId=meanwhile')
    expect(list.status).toBe(200)
    expect(list.body.items.map(({ messageId, status }) => [messageId, status])).toEqual([['meanwhile', 'queued']])
    const detail = await node.api<Delivery>('GET', delivery('meanwhile'))
    expect([detail.status, detail.body.status]).toEqual([200, 'queued'])
    const queued = await node.api<{ items: Delivery[] }>('GET', '/deliveries?status=queued')
    expect(queued.body.items.map(({ messageId }) => messageId)).toEqual(['aside', 'meanwhile'])
    const overview = await node.api<Overview>('GET', '/overview')
    expect(overview.status).toBe(200)
    expect(overview.body.funnel).toMatchObject({ queued: 2, delivered: null })
  })

  it('goes on with whatever asks the database alone', async () => {
    const { body: other } = await node.api<Source>('POST', '/sources', { name: 'Made meanwhile' })
    const pushed = { name: 'Pushed', membership: { kind: 'push' } }
    const calls: [method: string, path: string, body: unknown, status: number][] = [
      ['GET', '/session', undefined, 200],
      ['GET', '/sources', undefined, 200],
      ['PATCH', `/sources/${other.id}`, { name: 'Renamed meanwhile' }, 200],
      ['DELETE', `/sources/${other.id}`, undefined, 200],
      ['GET', `/audiences/${audience.id}`, undefined, 200],
      ['PATCH', `/audiences/${audience.id}`, { name: audience.name }, 200],
      ['POST', '/audiences', pushed, 201],
      ['GET', '/deliveries/count?status=queued', undefined, 200],
      ['GET', '/tokens', undefined, 200],
      ['GET', '/audit-log', undefined, 200],
      ['GET', '/onboarding', undefined, 200],
      ['GET', '/deletion-requests', undefined, 200],
    ]
    for (const [method, path, sent, expected] of calls) {
      const { status, body } = await node.api(method, path, sent)
      expect(status, `${method} ${path}: ${JSON.stringify(body)}`).toBe(expected)
    }
    const cancelled = await node.api('POST', `${delivery('aside')}/cancel`, {})
    expect(cancelled).toMatchObject({ status: 200, body: { became: 'cancelled' } })
  })

  it('answers again when it is back', async () => {
    way.open()
    await until('the deliveries are listed', async () => {
      const { status, body } = await node.api<{ items: Delivery[] }>('GET', '/deliveries?status=delivered')
      return status === 200 && body.items.some(({ messageId }) => messageId === 'meanwhile')
    })
  })
})

describe.skipIf(findPostgres() === undefined)('a node whose PostgreSQL is frozen', () => {
  let server: PostgresServer
  let node: TestApp

  beforeAll(async () => {
    server = await startPostgres()
    node = await startTestApp({
      environment: { DATABASE_URL: await server.createDatabase() },
      logger: pino({ level: 'silent' }),
    })
  })
  afterAll(async () => {
    server.thaw()
    await node[Symbol.asyncDispose]()
    await server.stop()
  })

  it('names the database for whatever asks it, and answers again when it is back', async () => {
    const { body: token } = await node.api<{ token: string }>('POST', '/tokens', { name: 'CI', role: 'viewer' })
    server.freeze()
    const calls: [method: string, path: string, body?: unknown][] = [
      ['GET', '/sources'],
      ['GET', '/overview'],
      ['GET', '/deliveries'],
      ['POST', '/sources', { name: 'Shop' }],
    ]
    const byToken = fetch(`${node.url}/api/v1/session`, { headers: { authorization: `Bearer ${token.token}` } })
    const answers = await Promise.all(calls.map((call) => node.api<Refusal>(...call)))
    const asked = await byToken
    answers.push({ status: asked.status, body: (await asked.json()) as Refusal })
    for (const { status, body } of answers) {
      expect([status, body.code], JSON.stringify(body)).toEqual([503, 'unavailable'])
      expect(body.message).toMatch(/^The database is away: /)
    }
    server.thaw()
    await until('the sources are listed', async () => (await node.api('GET', '/sources')).status === 200)
  })
})
