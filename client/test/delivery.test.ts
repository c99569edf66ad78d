/** What becomes of messages when the server is busy, broken, away or says no. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createCertificates } from '../../test/support/certificates.ts'
import { until } from '../../test/support/wait.ts'
import { startIngestServer, type Answer } from './support/ingest-server.ts'
import { runProgram } from './support/run-program.ts'
import { setup } from './support/setup.ts'

/** Timers run by another clock than dates do, and the two may drift apart. */
const clocksDifferMs = 50

/** The next full second after so many milliseconds, as dates in headers have no fractions. */
function dateIn(ms: number): { retryAfter: string; end: number } {
  const end = Math.ceil((Date.now() + ms) / 1_000) * 1_000
  return { retryAfter: new Date(end).toUTCString(), end }
}

describe('a failure that may pass', () => {
  it.each([
    ['503', { status: 503 }],
    ['429', { status: 429 }],
    ['408', { status: 408 }],
    ['a cut connection', 'cut' as const],
  ])('%s is retried with the same ids and a new sentAt', async (_name, answer) => {
    const { analytics, server, errors } = await setup()
    server.answers.push(answer)
    analytics.track({ userId: 'u1', event: 'Bought' })
    await analytics.flush()
    const [first, second] = server.requests
    expect(server.requests).toHaveLength(2)
    expect(second?.body.batch).toEqual(first?.body.batch)
    expect(second?.body.sentAt).not.toBe(first?.body.sentAt)
    expect(errors).toEqual([])
    expect(analytics.stats).toEqual({ pending: 0, delivered: 1, dropped: 0 })
  })

  it('is tried again after growing pauses, of which a random half is taken off', async () => {
    const server = await startIngestServer()
    onTestFinished(() => server.stop())
    const clients = 12
    // Whichever comes first: of each client two attempts fail.
    const tries = new Map<unknown, number>()
    const third: Answer = ({ body }) => {
      const [message] = body.batch
      const count = (tries.get(message?.messageId) ?? 0) + 1
      tries.set(message?.messageId, count)
      return { status: count < 3 ? 503 : 200, body: { success: count === 3 } }
    }
    server.answers.push(...Array<Answer>(3 * clients).fill(third))
    const source = `import { Analytics } from '@postrider/analytics'
      for (let i = 0; i < ${clients}; i++) new Analytics('key', { endpoint: '${server.url}' }).identify({ userId: 'u1' })`
    const { output } = await runProgram(source, { DEBUG: 'analytics' }).ended
    for (const [attempt, longest] of [
      [1, 500],
      [2, 1_000],
    ] as const) {
      const lines = output.matchAll(
        new RegExp(`attempt ${attempt} failed: the server answered 503; next in (\\d+) ms`, 'g'),
      )
      const pauses = [...lines].map(([, ms]) => Number(ms))
      expect(pauses).toHaveLength(clients)
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(longest / 2)
      expect(Math.max(...pauses)).toBeLessThanOrEqual(longest)
      expect(new Set(pauses).size).toBeGreaterThan(1)
    }
    expect(server.messages()).toHaveLength(clients)
  })

  it.each([
    ['seconds', () => ({ retryAfter: '2', end: Date.now() + 2_000 })],
    ['a date', () => dateIn(2_000)],
  ])('waits as long as Retry-After says in %s, with everything', async (_form, wait) => {
    const { analytics, server } = await setup({ flushAt: 1 })
    const { retryAfter, end } = wait()
    server.answers.push({ status: 429, headers: { 'Retry-After': retryAfter } })
    analytics.track({ userId: 'u1', event: 'first' })
    await until('it is under way', () => server.requests.length === 1)
    analytics.track({ userId: 'u1', event: 'second' })
    await analytics.flush()
    expect(Date.now() + clocksDifferMs).toBeGreaterThanOrEqual(end)
    expect(server.messages().map(({ event }) => event)).toEqual(['first', 'second'])
  })

  it('is given up after maxRetries, and the next batch has its turn', async () => {
    const { analytics, server, errors } = await setup({ flushAt: 1, maxRetries: 1 })
    server.answers.push(
      { status: 500 },
      { status: 500, body: { success: false, code: 'internal_error', message: 'no' } },
    )
    const messageId = analytics.track({ userId: 'u1', event: 'first' })
    await until('it is under way', () => server.requests.length === 1)
    analytics.track({ userId: 'u1', event: 'second' })
    await analytics.flush()
    expect(errors).toMatchObject([
      { code: 'gave_up', status: 500, reason: 'internal_error', messages: [{ messageId, event: 'first' }] },
    ])
    expect(server.messages()).toMatchObject([{ event: 'second' }])
    expect(analytics.stats).toEqual({ pending: 0, delivered: 1, dropped: 1 })
  })

  it('is an answer that does not come in requestTimeoutMs', async () => {
    const { analytics, server, errors } = await setup({ requestTimeoutMs: 100, maxRetries: 0 })
    server.answers.push('hang')
    analytics.identify({ userId: 'u1' })
    await analytics.flush()
    expect(errors).toMatchObject([{ code: 'gave_up', message: 'no answer in 100 ms' }])
  })

  it('is an answer too long to be one', async () => {
    const { analytics, server, errors } = await setup({ maxRetries: 0 })
    server.answers.push({ status: 200, body: { success: true, text: 'x'.repeat(1_000_000) } })
    analytics.identify({ userId: 'u1' })
    await analytics.flush()
    expect(errors).toMatchObject([{ code: 'gave_up', message: 'the answer is too long' }])
  })

  it('loses and doubles nothing when the server is away in the middle of 20,000 calls', async () => {
    const { analytics, server, errors } = await setup()
    for (let i = 0; i < 20_000; i++) {
      analytics.track({ userId: `u${i % 100}`, event: 'Bought', properties: { number: i } })
      if (i % 100 === 0) await sleep(1)
      if (i === 8_000) await server.stop()
      if (i === 16_000) await server.start()
    }
    await analytics.flush()
    const numbers = server.messages().map(({ properties }) => (properties as { number: number }).number)
    expect(numbers).toEqual(Array.from({ length: 20_000 }, (_, i) => i))
    expect(errors).toEqual([])
  })
})

describe('a final answer', () => {
  it.each([400, 401, 413, 302])('%i is not retried and goes to onError', async (status) => {
    const { analytics, server, errors } = await setup()
    const headers = { Location: server.url }
    server.answers.push({ status, headers, body: { success: false, code: 'some_code', message: 'some text' } })
    const messageId = analytics.identify({ userId: 'u1' })
    await analytics.flush()
    expect(server.requests).toHaveLength(1)
    expect(errors).toMatchObject([
      { code: 'refused', status, reason: 'some_code', message: 'some text', messages: [{ messageId }] },
    ])
  })

  it('413 leads to smaller batches in the same order, of which only what is too large by itself goes to onError', async () => {
    const { analytics, server, errors } = await setup({ flushAfter: 3_600_000 })
    const limit = { status: 413, body: { success: false, code: 'too_large', message: 'too large' } }
    // Of 5: all, the first 3, the first 2, the first alone.
    server.answers.push(limit, limit, limit, limit)
    for (let i = 0; i < 5; i++) analytics.track({ userId: 'u1', event: `${i}` })
    await analytics.flush()
    expect(server.requests.map(({ body }) => body.batch.length)).toEqual([5, 3, 2, 1, 1, 1, 2])
    expect(server.messages().map(({ event }) => event)).toEqual(['1', '2', '3', '4'])
    expect(errors).toMatchObject([{ code: 'refused', status: 413, messages: [{ event: '0' }] }])
    expect(analytics.stats).toEqual({ pending: 0, delivered: 4, dropped: 1 })
  })

  it('names rejected messages, and only they go to onError', async () => {
    const { analytics, server, errors } = await setup()
    server.answers.push(({ body }) => {
      const rejected = [{ index: 1, messageId: body.batch[1]?.messageId, code: 'id_required', message: 'no user' }]
      return { status: 200, body: { success: true, accepted: 2, rejected } }
    })
    for (const userId of ['u1', 'u2', 'u3']) analytics.identify({ userId })
    await analytics.flush()
    expect(errors).toMatchObject([
      { code: 'rejected', reason: 'id_required', message: 'no user', messages: [{ userId: 'u2' }] },
    ])
    expect(analytics.stats).toEqual({ pending: 0, delivered: 2, dropped: 1 })
  })

  it('is still the last word when onError throws or rejects', async () => {
    const handlers = [
      () => {
        throw new Error('handler')
      },
      () => Promise.reject(new Error('handler')) as unknown as undefined,
    ]
    const rejections: unknown[] = []
    const onRejection = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', onRejection)
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    for (const onError of handlers) {
      const { analytics, server } = await setup({ onError })
      server.answers.push({ status: 400 })
      analytics.identify({ userId: 'u1' })
      await analytics.flush()
      analytics.identify({ userId: 'u2' })
      await analytics.flush()
      expect(server.messages()).toMatchObject([{ userId: 'u2' }])
    }
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onRejection)
    expect(printed).toHaveBeenCalledTimes(2)
    printed.mockRestore()
    expect(rejections).toEqual([])
  })
})

describe('a server with HTTPS', () => {
  it('gets messages when its certificate is trusted, and none otherwise', async () => {
    const { authority, valid } = await createCertificates()
    const server = await startIngestServer(valid)
    const folder = mkdtempSync(join(tmpdir(), 'authority-'))
    onTestFinished(async () => {
      await server.stop()
      rmSync(folder, { recursive: true })
    })
    writeFileSync(join(folder, 'ca.pem'), authority)
    const source = `import { Analytics } from '@postrider/analytics'
      const onError = ({ code, message }) => console.log(code, message)
      const analytics = new Analytics('key', { endpoint: '${server.url}', maxRetries: 0, onError })
      analytics.identify({ userId: process.env.USER_ID })
      await analytics.close()`
    expect(await runProgram(source, { USER_ID: 'stranger' }).ended).toMatchObject({
      output: expect.stringMatching(/^gave_up unable to verify/) as string,
    })
    const trusting = { USER_ID: 'u1', NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }
    expect(await runProgram(source, trusting).ended).toMatchObject({ code: 0, output: '' })
    expect(server.messages()).toMatchObject([{ userId: 'u1' }])
  })
})

describe('a full queue', () => {
  it('drops the new message, counts it, reports it, and takes messages again when there is room', async () => {
    const { analytics, server, errors } = await setup({ maxQueueBytes: 1_000, flushAfter: 3_600_000 })
    for (let i = 0; i < 10; i++) analytics.track({ userId: 'u1', event: `${i}` })
    const { pending, dropped } = analytics.stats
    expect(pending).toBeGreaterThan(2)
    expect(pending + dropped).toBe(10)
    expect(errors).toHaveLength(dropped)
    expect(errors[0]).toMatchObject({ code: 'queue_full', messages: [{ event: `${pending}` }] })
    await analytics.flush()
    analytics.track({ userId: 'u1', event: 'later' })
    await analytics.flush()
    const events = server.messages().map(({ event }) => event)
    expect(events).toEqual([...Array.from({ length: pending }, (_, i) => `${i}`), 'later'])
  })

  it('with drop-oldest drops what has waited longest, but not what is under way', async () => {
    const { analytics, server, errors } = await setup({
      maxQueueBytes: 2_000,
      overflow: 'drop-oldest',
      flushAt: 1,
      requestTimeoutMs: 500,
    })
    server.answers.push('hang')
    analytics.track({ userId: 'u1', event: '0' })
    await until('it is under way', () => server.requests.length === 1)
    for (let i = 1; i < 30; i++) analytics.track({ userId: 'u1', event: `${i}` })
    const { pending, dropped } = analytics.stats
    expect(pending).toBeGreaterThan(2)
    expect(pending + dropped).toBe(30)
    const lost = errors.flatMap(({ code, messages }) => messages.map(({ event }) => `${code} ${String(event)}`))
    expect(lost).toEqual(Array.from({ length: dropped }, (_, i) => `queue_full ${i + 1}`))
    const tooLarge = analytics.track({ userId: 'u1', event: 'large', properties: { text: 'x'.repeat(2_000) } })
    expect(errors.at(-1)).toMatchObject({ code: 'queue_full', messages: [{ messageId: tooLarge }] })
    expect(analytics.stats).toMatchObject({ pending, dropped: dropped + 1 })
    await analytics.flush()
    const events = server.messages().map(({ event }) => event)
    expect(events).toEqual(['0', ...Array.from({ length: pending - 1 }, (_, i) => `${dropped + 1 + i}`)])
  })

  it.each(['drop-newest', 'drop-oldest'] as const)(
    'with %s takes no more from onError, which is told of it',
    async (overflow) => {
      let told = 0
      const { analytics, server } = await setup({
        maxQueueBytes: 2_000,
        overflow,
        flushAfter: 3_600_000,
        onError: () => {
          told++
          analytics.track({ userId: 'u1', event: 'Lost' })
        },
      })
      for (let i = 0; i < 30; i++) analytics.track({ userId: 'u1', event: `${i}` })
      const { pending, dropped } = analytics.stats
      expect(told).toBeGreaterThan(10)
      expect(pending + told).toBe(30)
      expect(dropped).toBe(2 * told)
      await analytics.flush()
      expect(server.messages()).toHaveLength(pending)
    },
  )
})

describe('close', () => {
  it('delivers what waits', async () => {
    const { analytics, server } = await setup()
    analytics.identify({ userId: 'u1' })
    await analytics[Symbol.asyncDispose]()
    expect(server.messages()).toHaveLength(1)
  })

  it('reports what it could not deliver within timeoutMs', async () => {
    const { analytics, server, errors } = await setup({ flushAt: 1 })
    server.answers.push('hang')
    analytics.track({ userId: 'u1', event: 'under way' })
    await until('it is under way', () => server.requests.length === 1)
    analytics.track({ userId: 'u1', event: 'waiting' })
    const flushed = analytics.flush()
    await analytics.close({ timeoutMs: 50 })
    await flushed
    expect(errors).toMatchObject([
      { code: 'closed', messages: [{ event: 'under way' }] },
      { code: 'closed', messages: [{ event: 'waiting' }] },
    ])
    expect(analytics.stats).toEqual({ pending: 0, delivered: 0, dropped: 2 })
  })
})
