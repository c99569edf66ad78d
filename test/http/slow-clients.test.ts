/** Bounds on slow clients, each alone on a small server. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify, { type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { expect, inject, it, onTestFinished } from 'vitest'
import { stagingGroupSize } from '../../src/audiences/stage-members.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { answerErrors } from '../../src/http/errors.ts'
import { acceptJson } from '../../src/http/json-body.ts'
import { stageUpload, takeStreams } from '../../src/http/management/audience-members.ts'
import { limitClients, type ClientLimits } from '../../src/http/slow-clients.ts'
import { chunk, head, lastChunk, openRawClient } from '../support/raw-client.ts'
import { until } from '../support/wait.ts'

const longMs = 60_000

/** @returns the URL of a server with these limits */
async function startServer(limits: Partial<ClientLimits>, addRoutes: (app: FastifyInstance) => Promise<void> | void) {
  const clients = limitClients({ requestTimeoutMs: longMs, maxConnections: 1_000, ...limits })
  const app = fastify({ ...clients.options, forceCloseConnections: true })
  answerErrors(app)
  clients.apply(app)
  await addRoutes(app)
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

const takeJson = (maxUnfinishedBytes: number) => (app: FastifyInstance) => {
  acceptJson(app, { maxBytes: 100_000, maxUnfinishedBytes })
  app.post('/json', async ({ body }) => ({ body }))
}

const post = async (url: string): Promise<number> =>
  (await fetch(`${url}/json`, { method: 'POST', body: JSON.stringify('x'.repeat(1_000)) })).status

const pending = (url: string, bytes: number) =>
  openRawClient(url, head('POST', '/json', [`Content-Length: ${bytes + 1_000}`]), Buffer.alloc(bytes, ' '))

it('of unfinished bodies beyond the bound the oldest are answered 408', async () => {
  const url = await startServer({}, takeJson(1e6))
  const oldest = await pending(url, 90_000)
  const others = []
  for (let count = 0; count < 9; count++) others.push(await pending(url, 90_000))
  expect(await post(url)).toBe(200)
  expect(oldest.isClosed).toBe(false)
  others.push(await pending(url, 90_000), await pending(url, 90_000))
  await until('the oldest is ended', () => oldest.isClosed)
  expect(oldest.answer).toMatch(/^HTTP\/1\.1 408 /)
  expect(oldest.answer).toContain('"code":"request_timeout"')
  expect(await post(url)).toBe(200)
  const youngest = others.at(-1)
  youngest?.socket.write(Buffer.alloc(1_000, '1'))
  await until('the youngest is answered', () => youngest?.answer !== '')
  expect(youngest?.answer).toMatch(/^HTTP\/1\.1 200 /)
})

it('a body in parts of one byte counts for what it takes in memory', async () => {
  const url = await startServer({}, takeJson(1e6))
  const client = await openRawClient(url, head('POST', '/json', ['Transfer-Encoding: chunked']))
  client.socket.write(chunk(' ').repeat(20_000))
  await until('it is ended', () => client.isClosed)
  expect(client.answer).toMatch(/^HTTP\/1\.1 408 /)
})

it('of a path that nothing is at the body is not waited for', async () => {
  const url = await startServer({}, takeJson(1e6))
  const client = await openRawClient(url, head('POST', '/nothing', ['Content-Length: 1000']), '{')
  await until('it is answered', () => client.answer !== '')
  expect(client.answer).toMatch(/^HTTP\/1\.1 404 /)
  client.socket.destroy()
})

it('an upload of which nothing comes any more is answered 408, and nothing of it stays', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'))
  await cp(inject('databaseTemplate'), join(folder, 'pglite'), { recursive: true })
  const database = await openPglite(join(folder, 'pglite'), pino({ level: 'error' }))
  onTestFinished(async () => {
    await database.close()
    await rm(folder, { recursive: true })
  })
  const count = async (): Promise<{ rows: number; loads: number }> => {
    const [counts] = await database.query<{ rows: number; loads: number }>(
      `select (select count(*)::int from audience_rows) as rows, (select count(*)::int from audience_loads) as loads`,
    )
    return counts ?? { rows: -1, loads: -1 }
  }
  let mostRows = 0
  const url = await startServer({ requestTimeoutMs: 3_000 }, (app) => {
    takeStreams(app)
    const inTurn = async <Result>(piece: () => Promise<Result>): Promise<Result> => {
      const result = await piece()
      mostRows = Math.max(mostRows, (await count()).rows)
      return result
    }
    const parts = { database, liveTraffic: { inTurn } }
    app.put('/members', (request) => stageUpload(parts, { id: '1', kind: 'audience' }, request))
  })
  const client = await openRawClient(
    url,
    head('PUT', '/members', ['Content-Type: application/x-ndjson', 'Transfer-Encoding: chunked']),
  )
  for (let index = 0; index < 1.5 * stagingGroupSize; index++) client.socket.write(chunk(`{"userId":"u${index}"}\n`))
  await until('it is ended', () => client.isClosed)
  expect(client.answer).toMatch(/^HTTP\/1\.1 408 /)
  await until('nothing is left', async () => (await count()).loads === 0)
  expect(await count()).toEqual({ rows: 0, loads: 0 })
  expect(mostRows).toBeGreaterThanOrEqual(stagingGroupSize)
})

it('an upload that has arrived may be worked on for longer', async () => {
  const requestTimeoutMs = 500
  const url = await startServer({ requestTimeoutMs }, (app) => {
    takeStreams(app)
    app.put('/members', async ({ body }) => {
      for await (const part of body as Readable) expect(part).toBeDefined()
      await new Promise((resolve) => setTimeout(resolve, 4 * requestTimeoutMs))
      return { done: true }
    })
  })
  const lines = ['Content-Type: text/csv', 'Transfer-Encoding: chunked']
  const client = await openRawClient(url, head('PUT', '/members', lines), chunk('userId\n'), lastChunk)
  await until('it is answered', () => client.answer !== '' || client.isClosed)
  expect(client.answer).toMatch(/^HTTP\/1\.1 200 /)
  client.socket.destroy()
})
