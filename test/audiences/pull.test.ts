import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { ScheduleNotFoundError } from '@temporalio/client'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { audienceScheduleId } from '../../src/contracts/audience-sync.ts'
import type { Audience, Sync } from '../../src/schemas/audience.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import {
  createAudience,
  describeOnEachDatabase,
  ended,
  getSync,
  givenDestination,
  start,
  state,
  until,
} from './setup.ts'

/** Serves the pulls by SQL, and keeps the data of the node that is not on PGlite. */
let postgres: PostgresServer

beforeAll(async () => {
  if (findPostgres() !== undefined) postgres = await startPostgres()
})
afterAll(() => postgres?.stop())

const isNotFound = (error: unknown): boolean => error instanceof ScheduleNotFoundError

describeOnEachDatabase('on', (databaseKind) => {
  const given = givenDestination(databaseKind, () => postgres)

  const sync = async (audience: Audience): Promise<Sync> =>
    ended(given.node, audience, await start(given.node, audience, 'sync'))

  describe('HTTP', () => {
    let requests: IncomingMessage[]
    let answer: (request: IncomingMessage, response: ServerResponse) => void
    let url: string

    beforeEach(async ({ onTestFinished }) => {
      requests = []
      const server = createServer((request, response) => {
        requests.push(request)
        answer(request, response)
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      onTestFinished(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, 'close')
      })
    })

    const pulled = (more: object = {}) =>
      createAudience(given.node, [given.destinationId], {
        membership: { kind: 'http', url: `${url}/members`, headers: { authorization: 'Bearer s3cret' } },
        ...more,
      })

    it('follows next-page links, sends its headers, and shows their names only', async () => {
      answer = ({ url: path }, response) => {
        if (path === '/members') {
          response.writeHead(200, { 'content-type': 'application/json', link: '</more?page=2>; rel="next"' })
          response.end('[{"userId":"u1","traits":{"plan":"pro"}},"u2"]')
        } else {
          response.writeHead(200, { 'content-type': 'text/csv', 'content-encoding': 'gzip' })
          response.end(gzipSync('user_id,plan\nu3,free\n'))
        }
      }
      const audience = await pulled()
      expect(audience.membership).toEqual({ kind: 'http', url: `${url}/members`, headerNames: ['authorization'] })
      expect(await sync(audience)).toMatchObject({ status: 'completed', rowsRead: 3, added: 3, sent: 3 })
      expect(state(given.receiver.requests)).toEqual({ u1: true, u2: true, u3: true })
      expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer s3cret', 'Bearer s3cret'])
    })

    it('honours the ETag, and still sends again what failed', async () => {
      answer = ({ headers }, response) => {
        if (headers['if-none-match'] === '"v1"') response.writeHead(304).end()
        else response.writeHead(200, { 'content-type': 'application/x-ndjson', etag: '"v1"' }).end('"u1"\n"u2"\n')
      }
      given.receiver.answer(({ body }) => (body.includes('"u2"') ? { status: 400 } : {}))
      const audience = await pulled()
      expect(await sync(audience)).toMatchObject({ sent: 1, failed: 1 })
      given.receiver.answer({})
      expect(await sync(audience)).toMatchObject({ status: 'completed', sent: 1, unchanged: 1 })
      expect(requests).toHaveLength(2)
      expect(state(given.receiver.requests)).toEqual({ u1: true, u2: true })
    })

    it('fails and removes nobody when the answer is an error, breaks off or is no membership', async () => {
      answer = (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/csv' }).end('userId\nu1\nu2\n')
      const audience = await pulled({ maxRemovalShare: 1 })
      await sync(audience)
      answer = (_request, response) => void response.writeHead(404).end()
      expect(await sync(audience)).toMatchObject({ status: 'failed', reason: expect.stringContaining('404') as string })
      answer = (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end('["u1",')
      expect((await sync(audience)).reason).toMatch(/not a JSON array/)
      let tries = 0
      answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/csv', 'content-length': '1000' })
        if (++tries > 1) response.end(`userId\nu1\n${'u2\n'.repeat(330)}`)
        else response.write('userId\nu1\n', () => response.destroy())
      }
      expect(await sync(audience)).toMatchObject({ status: 'completed', removed: 0, unchanged: 2 })
      expect(tries).toBe(2)
      expect(given.receiver.requests).toHaveLength(2)
    })

    it('reaches only addresses that deliveries may reach', async () => {
      const refused = await given.node.api('POST', '/audiences', {
        name: 'Inside',
        membership: { kind: 'http', url: 'http://169.254.169.254/latest' },
      })
      expect(refused).toMatchObject({ status: 400, body: { path: 'membership.url' } })
      answer = (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/csv', link: '<http://10.0.0.1/>; rel="next"' })
          .end('userId\nu1\n')
      const failed = await sync(await pulled())
      expect(failed).toMatchObject({ status: 'failed', reason: expect.stringContaining('private address') as string })
      expect(given.receiver.requests).toHaveLength(0)
    })

    it('syncs by its schedule, pauses and resumes, and catches up on demand', async () => {
      let users = '"u1"\n'
      answer = (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(users)
      const audience = await pulled({ schedule: { interval: '1m' } })
      const schedule = given.node.app.temporal.client.schedule.getHandle(audienceScheduleId(audience.id))
      /** As it is but for the pauses, which are a minute at least where they are set. */
      const hasten = () => schedule.update((known) => ({ ...known, spec: { intervals: [{ every: '1s' }] } }))
      await hasten()
      await until(() => given.receiver.requests.length === 1, 'the schedule fired')
      users = '"u1"\n"u2"\n'
      await until(() => given.receiver.requests.length === 2, 'the schedule fired again')
      const paused = await given.node.api<Audience>('POST', `/audiences/${audience.id}/pause`)
      expect(paused.body.paused).toBe(true)
      await until(async () => (await syncs(audience)).every(({ status }) => status !== 'running'), 'nothing runs')
      const asked = requests.length
      const from = new Date(Date.now() - 150_000).toISOString()
      // Runs that were missed are made on demand although the schedule is paused; a pause that did not hold would show here.
      await given.node.api('POST', `/audiences/${audience.id}/backfill`, {
        from,
        to: new Date(Date.now() - 30_000).toISOString(),
      })
      await until(() => requests.length > asked, 'the missed runs were made')
      users = '"u3"\n"u2"\n"u1"\n'
      await given.node.api('POST', `/audiences/${audience.id}/resume`)
      await hasten()
      await until(() => given.receiver.requests.length === 3, 'the schedule goes on')
      await given.node.api('PATCH', `/audiences/${audience.id}`, { schedule: null })
      expect(
        await given.node.api('PATCH', `/audiences/${audience.id}`, { schedule: { cron: 'this is no cron line' } }),
      ).toMatchObject({
        status: 400,
        body: { path: 'schedule.cron' },
      })
      await given.node.api('PATCH', `/audiences/${audience.id}`, { schedule: { interval: '1h' } })
      await schedule.describe()
      await given.node.api('DELETE', `/audiences/${audience.id}`)
      await until(() => schedule.describe().then(() => false, isNotFound), 'the schedule is gone with its audience')
    })

    it('skips a scheduled run while a sync is running', async () => {
      answer = (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('"u1"\n')
      const audience = await pulled({ schedule: { interval: '1h' } })
      await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: true })
      const running = await start(given.node, audience, 'sync')
      await until(async () => (await getSync(given.node, audience, running)).phase === 'sending', 'it is held')
      const { client } = given.node.app.temporal
      const schedule = client.schedule.getHandle(audienceScheduleId(audience.id))
      await schedule.trigger()
      const run = async () => (await schedule.describe()).info.recentActions.at(-1)?.action.workflow
      await until(async () => (await run()) !== undefined, 'the schedule fired')
      expect(await client.workflow.getHandle((await run())?.workflowId ?? '').result()).toBe('skipped')
      await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: false })
      expect(await ended(given.node, audience, running)).toMatchObject({ status: 'completed', sent: 1 })
      expect(await syncs(audience)).toHaveLength(1)
    })

    it('starts its runs up to the jitter late, each at its own moment', async () => {
      const jitterMinutes = 30
      const audience = await pulled({
        schedule: { cron: '0 6 * * *', timezone: 'Europe/Berlin', jitter: `${jitterMinutes}m` },
      })
      const { info } = await given.node.app.temporal.client.schedule
        .getHandle(audienceScheduleId(audience.id))
        .describe()
      const late = info.nextActionTimes.map((at) => {
        const [hour, minute = NaN] = at
          .toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })
          .split(':')
          .map(Number)
        expect(hour).toBe(6)
        return minute
      })
      expect(late.length).toBeGreaterThan(1)
      expect(Math.max(...late)).toBeLessThanOrEqual(jitterMinutes)
      expect(new Set(late).size).toBeGreaterThan(1)
    })

    const syncs = async (audience: Audience): Promise<Sync[]> =>
      (await given.node.api<{ items: Sync[] }>('GET', `/audiences/${audience.id}/syncs`)).body.items
  })

  describe.skipIf(findPostgres() === undefined)('SQL', () => {
    let url: string
    let client: pg.Client

    beforeAll(async () => {
      url = await postgres.createDatabase()
      client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query('create table customers (id bigint, name text, spent numeric)')
      await client.query(`insert into customers select n, 'n' || n, n * 1.5 from generate_series(1, 2500) n`)
    })
    afterAll(() => client.end())

    const pulled = (query: string, more: object = {}) =>
      createAudience(given.node, [given.destinationId], {
        membership: { kind: 'sql', connectionString: `${url}?sslmode=disable`, query },
        ...more,
      })

    it('streams the rows of a query, and never shows the connection string', async () => {
      const audience = await pulled('select id as user_id, name from customers order by id')
      expect(JSON.stringify(audience)).not.toContain(postgres.password)
      expect(audience.membership).toMatchObject({ kind: 'sql', host: '127.0.0.1' })
      expect(await sync(audience)).toMatchObject({ status: 'completed', rowsRead: 2_500, sent: 2_500 })
      const first = given.receiver.requests.find(({ body }) => body.includes('"userId":"1",'))
      expect(JSON.parse(String(first?.body))).toMatchObject({ traits: { name: 'n1', vip_customers: true } })
    })

    it('reads computed traits as numbers', async () => {
      const trait = await pulled('select id as user_id, spent as value from customers where id <= 2', {
        name: 'Spent',
        kind: 'trait',
      })
      expect(await sync(trait)).toMatchObject({ status: 'completed', sent: 2 })
      expect(state(given.receiver.requests, 'spent')).toEqual({ 1: 1.5, 2: 3 })
    })

    it.each([
      ['delete from customers returning id as user_id', /read-only/],
      ['select pg_sleep(10), 1 as user_id', /timeout/],
      ['select name from customers', /no column userId/],
      ['selec', /syntax/],
    ])('fails the sync of %j', async (query, reason) => {
      const audience = await createAudience(given.node, [given.destinationId], {
        membership: {
          kind: 'sql',
          connectionString: `${url}?sslmode=disable`,
          query,
          statementTimeoutSeconds: 1,
        },
      })
      const failed = await sync(audience)
      expect(failed.status).toBe('failed')
      expect(failed.reason).toMatch(reason)
      expect((await client.query('select count(*)::int as count from customers')).rows).toEqual([{ count: 2_500 }])
    })

    it.each([
      ['postgres://u:p@10.0.0.1/db', /private address/],
      ['postgres://u:p@127.0.0.1/db?host=/var/run/postgresql', /parameter host/],
      ['postgres://u:p@127.0.0.1/db?sslrootcert=/etc/passwd', /parameter sslrootcert/],
      ['mysql://u:p@127.0.0.1/db', /postgres:/],
    ])('refuses the connection string %j', async (connectionString, message) => {
      const { status, body } = await given.node.api<{ message: string }>('POST', '/audiences', {
        name: 'Refused',
        membership: { kind: 'sql', connectionString, query: 'select 1 as user_id' },
      })
      expect(status).toBe(400)
      expect(body.message).toMatch(message)
      expect(body.message).not.toContain('u:p')
    })
  })
})
