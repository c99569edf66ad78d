/** When batches leave, and how large they are. */

import { Analytics } from '@postrider/analytics'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startIngestServer, type IngestServer } from './support/ingest-server.ts'
import { setup } from './support/setup.ts'

const HOUR = 3_600_000
const longLimit = { timeout: 60_000, interval: 10 }
const sizes = (server: IngestServer) => server.requests.map(({ body }) => body.batch.length)
const arrived = (server: IngestServer, count: number) =>
  vi.waitFor(() => expect(server.messages()).toHaveLength(count), longLimit)

describe('a flush', () => {
  it('starts at 20 waiting messages, by default', async () => {
    const { analytics, server } = await setup({ flushAfter: HOUR })
    for (let i = 0; i < 19; i++) analytics.track({ userId: 'u1', event: `event ${i}` })
    await new Promise((resolve) => setImmediate(resolve))
    expect(analytics.stats).toEqual({ pending: 19, delivered: 0, dropped: 0 })
    analytics.track({ userId: 'u1', event: 'event 19' })
    await arrived(server, 20)
    expect(sizes(server)).toEqual([20])
    await vi.waitFor(() => expect(analytics.stats).toEqual({ pending: 0, delivered: 20, dropped: 0 }), longLimit)
  })

  it.each([{ flushAt: 1 }, { size: 1 }, { flushAt: 30, size: 1 }])('starts at each call with %o', async (options) => {
    const { analytics, server } = await setup({ ...options, flushAfter: HOUR })
    for (let i = 1; i <= 3; i++) {
      analytics.track({ userId: 'u1', event: 'Bought' })
      await arrived(server, i)
    }
    expect(sizes(server)).toEqual([1, 1, 1])
  })

  it('starts when flushAfter has passed since the last one', async () => {
    const { analytics, server } = await setup({ flushAfter: 300 })
    const start = performance.now()
    analytics.track({ userId: 'u1', event: 'first' })
    analytics.track({ userId: 'u1', event: 'second' })
    await arrived(server, 2)
    expect(performance.now() - start).toBeGreaterThanOrEqual(290)
    analytics.track({ userId: 'u1', event: 'third' })
    await arrived(server, 3)
    expect(sizes(server)).toEqual([2, 1])
  })

  it('is waited for by flush(), which resolves at once when nothing waits', async () => {
    const { analytics, server } = await setup({ flushAfter: HOUR })
    await analytics.flush()
    analytics.identify({ userId: 'u1' })
    await analytics.flush()
    expect(server.messages()).toHaveLength(1)
  })
})

describe('the address of the server', () => {
  it.each(['', '/', '/v1/batch', '/v1/batch/', '/v1/import', '/base/v1/batch', '/base//'])(
    'may end in "%s", as with other libraries of this protocol',
    async (path) => {
      const server = await startIngestServer()
      onTestFinished(() => server.stop())
      const analytics = new Analytics('key', { endpoint: `${server.url}${path}` })
      analytics.identify({ userId: 'u1' })
      await analytics.close()
      expect(server.requests.map((request) => request.path)).toEqual([
        path.startsWith('/base') ? '/base/v1/batch' : '/v1/batch',
      ])
    },
  )
})

describe('a batch', () => {
  it('holds at most 2,500 messages', async () => {
    const { analytics, server } = await setup({ flushAt: 10_000, flushAfter: HOUR })
    for (let i = 0; i < 6_000; i++) analytics.track({ userId: 'u1', event: `${i}` })
    await analytics.flush()
    expect(Math.max(...sizes(server))).toBeLessThanOrEqual(2_500)
    expect(server.messages().map(({ event }) => event)).toEqual(Array.from({ length: 6_000 }, (_, i) => `${i}`))
  })

  it('is at most 512,000 bytes of UTF-8, and nearly that when much waits', async () => {
    const { analytics, server } = await setup({ flushAfter: HOUR })
    const properties = { text: 'ü'.repeat(5_000) }
    for (let i = 0; i < 300; i++) analytics.track({ userId: 'u1', event: 'Wrote', properties })
    await analytics.flush()
    const bytes = server.requests.map((request) => request.bytes)
    expect(Math.max(...bytes)).toBeLessThanOrEqual(512_000)
    expect(Math.max(...bytes)).toBeGreaterThan(490_000)
    expect(server.messages()).toHaveLength(300)
  })

  it('is compressed when that pays, unless gzip is off', async () => {
    const on = await setup()
    const off = await setup({ gzip: false })
    for (const { analytics, server } of [on, off]) {
      analytics.identify({ userId: 'u1' })
      await analytics.flush()
      analytics.identify({ userId: 'u1', traits: { text: 'x'.repeat(2_000) } })
      await analytics.flush()
      expect(server.messages()).toHaveLength(2)
    }
    expect(on.server.requests.map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'gzip'])
    expect(off.server.requests.map(({ headers }) => headers['content-encoding'])).toEqual([undefined, undefined])
  })

  it('goes over the connection of the one before', async () => {
    const { analytics, server } = await setup()
    for (let i = 0; i < 3; i++) {
      analytics.identify({ userId: 'u1' })
      await analytics.flush()
    }
    expect(server.requests).toHaveLength(3)
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(1)
  })

  it('takes in what is called while the one before is under way', async () => {
    const { analytics, server } = await setup({ flushAt: 1, flushAfter: HOUR })
    server.answers.push('cut')
    for (let i = 0; i < 100; i++) analytics.track({ userId: 'u1', event: `${i}` })
    await arrived(server, 100)
    expect(sizes(server)).toEqual([1, 1, 99])
    expect(server.messages().map(({ event }) => event)).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`))
  })
})
