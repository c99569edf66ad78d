/** What survives a crash, and that it is sent once, by one process. */

import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Analytics } from '@postrider/analytics'
import type { DeliveryError, NodeAnalyticsOptions } from '@postrider/analytics'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startIngestServer } from './support/ingest-server.ts'
import type { IngestServer } from './support/ingest-server.ts'
import { runProgram } from './support/run-program.ts'

const HOUR = 3_600_000

async function setUp() {
  const server = await startIngestServer()
  const spoolDir = mkdtempSync(join(tmpdir(), 'spool-'))
  onTestFinished(async () => {
    await server.stop()
    rmSync(spoolDir, { recursive: true })
  })
  return { server, spoolDir }
}

function open(server: IngestServer, spoolDir: string, writeKey = 'key', options: NodeAnalyticsOptions = {}) {
  const errors: DeliveryError[] = []
  const analytics = new Analytics(writeKey, {
    endpoint: server.url,
    spoolDir,
    flushAfter: HOUR,
    onError: (error) => void errors.push(error),
    ...options,
  })
  onTestFinished(() => analytics.close({ timeoutMs: 0 }))
  return { analytics, errors }
}

/** Runs a process that queues `count` messages and is killed before it sent any. */
async function crash(server: IngestServer, spoolDir: string, count: number): Promise<void> {
  const program = runProgram(
    `import { Analytics } from '@postrider/analytics'
    const options = { endpoint: process.env.ENDPOINT, spoolDir: process.env.SPOOL, flushAt: 1e9, flushAfter: ${HOUR} }
    const analytics = new Analytics('key', options)
    for (let i = 0; i < ${count}; i++) analytics.track({ userId: 'u1', event: 'Bought', properties: { number: i } })
    console.log('queued')
    setInterval(() => {}, 1_000)`,
    { ENDPOINT: server.url, SPOOL: spoolDir },
  )
  await program.printed('queued')
  program.process.kill('SIGKILL')
  await program.ended
}

const files = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
const numbers = (server: IngestServer) =>
  server.requests.flatMap(({ body }) => body.batch.map(({ properties }) => (properties as { number: number }).number))

describe('the spool', () => {
  it('lets the next process send what was queued at a crash, once and in order', async () => {
    const { server, spoolDir } = await setUp()
    await crash(server, spoolDir, 5_000)
    expect(server.requests).toEqual([])
    const { analytics, errors } = open(server, spoolDir)
    await analytics.flush()
    expect(numbers(server)).toEqual(Array.from({ length: 5_000 }, (_, i) => i))
    expect(errors).toEqual([])
    expect(files(spoolDir)).toEqual([])
    await analytics.close()
    open(server, spoolDir).analytics.identify({ userId: 'last' })
    expect(numbers(server)).toHaveLength(5_000)
  })

  it('is shared out among processes that start at the same time', async () => {
    const { server, spoolDir } = await setUp()
    await crash(server, spoolDir, 5_000)
    const source = `import { Analytics } from '@postrider/analytics'
      await new Analytics('key', { endpoint: process.env.ENDPOINT, spoolDir: process.env.SPOOL }).close()`
    const env = { ENDPOINT: server.url, SPOOL: spoolDir }
    const ends = await Promise.all(Array.from({ length: 4 }, () => runProgram(source, env).ended))
    expect(ends.map(({ code, output }) => ({ code, output }))).toEqual(Array(4).fill({ code: 0, output: '' }))
    expect(numbers(server).sort((a, b) => a - b)).toEqual(Array.from({ length: 5_000 }, (_, i) => i))
  })

  it('leaves alone what a living process still has', async () => {
    const { server, spoolDir } = await setUp()
    const first = open(server, spoolDir)
    first.analytics.identify({ userId: 'of the first' })
    const second = open(server, spoolDir)
    second.analytics.identify({ userId: 'of the second' })
    await second.analytics.close()
    expect(server.messages()).toMatchObject([{ userId: 'of the second' }])
    await first.analytics.flush()
    expect(server.requests).toHaveLength(2)
  })

  it('keeps what close could not deliver, for the next client', async () => {
    const { server, spoolDir } = await setUp()
    server.answers.push('hang')
    const first = open(server, spoolDir)
    first.analytics.identify({ userId: 'u1' })
    await first.analytics.close({ timeoutMs: 50 })
    expect(first.errors).toEqual([])
    const second = open(server, spoolDir)
    await vi.waitFor(() => expect(server.messages()).toMatchObject([{ userId: 'u1' }]), { timeout: 60_000 })
    await second.analytics.close()
    expect(files(spoolDir)).toEqual([])
  })

  it('does not send a line that the crash cut off', async () => {
    const { server, spoolDir } = await setUp()
    await crash(server, spoolDir, 3)
    appendFileSync(files(spoolDir)[0] ?? '', '{"type":"track","userId":"u')
    await open(server, spoolDir).analytics.flush()
    expect(numbers(server)).toEqual([0, 1, 2])
  })

  it('is read only with the same write key, and by nobody else on the machine', async () => {
    const { server, spoolDir } = await setUp()
    await crash(server, spoolDir, 3)
    const other = open(server, spoolDir, 'other-key')
    other.analytics.track({ userId: 'u1', event: 'Bought', properties: { number: 99 } })
    await other.analytics.flush()
    expect(numbers(server)).toEqual([99])
    expect(files(spoolDir).map((path) => statSync(path).mode & 0o777)).toEqual([0o600])
  })

  it('that fails is reported once, also to an onError that itself calls', async () => {
    const { server, spoolDir } = await setUp()
    let told = 0
    const analytics = new Analytics('key', {
      endpoint: server.url,
      spoolDir,
      flushAfter: HOUR,
      onError: () => {
        told++
        analytics.track({ userId: 'u1', event: 'Told' })
      },
    })
    onTestFinished(() => analytics.close({ timeoutMs: 0 }))
    rmSync(spoolDir, { recursive: true })
    appendFileSync(spoolDir, 'no folder any more')
    analytics.identify({ userId: 'u1' })
    await analytics.flush()
    expect(told).toBe(1)
    expect(server.messages()).toMatchObject([{ type: 'identify' }, { event: 'Told' }])
  })

  it('that cannot be written is reported, and messages are sent all the same', async () => {
    const { server, spoolDir } = await setUp()
    const file = join(spoolDir, 'file')
    appendFileSync(file, '')
    const { analytics, errors } = open(server, file)
    analytics.identify({ userId: 'u1' })
    await analytics.flush()
    expect(server.messages()).toHaveLength(1)
    expect(errors[0]).toMatchObject({ code: 'spool_failed', messages: [] })
    server.answers.push('hang')
    analytics.identify({ userId: 'u2' })
    await analytics.close({ timeoutMs: 50 })
    expect(errors.at(-1)).toMatchObject({ code: 'closed', messages: [{ userId: 'u2' }] })
  })

  it.each(['drop-newest', 'drop-oldest'])(
    'with %s never holds more than maxQueueBytes after crashes',
    async (overflow) => {
      const { server, spoolDir } = await setUp()
      await server.stop()
      for (let i = 0; i < 3; i++) {
        const source = `import { Analytics } from '@postrider/analytics'
        const options = { endpoint: process.env.ENDPOINT, spoolDir: process.env.SPOOL, maxQueueBytes: 10_000, overflow: '${overflow}' }
        const analytics = new Analytics('key', { ...options, onError: () => {} })
        for (let i = 0; i < 100; i++) analytics.identify({ userId: 'u1' })
        process.kill(process.pid, 'SIGKILL')`
        await runProgram(source, { ENDPOINT: server.url, SPOOL: spoolDir }).ended
      }
      const bytes = files(spoolDir).reduce((sum, path) => sum + statSync(path).size, 0)
      expect(bytes).toBeGreaterThan(5_000)
      expect(bytes).toBeLessThan(10_100)
      await server.start()
    },
  )
})

describe('what is in the spool', () => {
  const refusal = { status: 401, body: { success: false, code: 'unknown_write_key', message: 'no such key' } }
  const track = (analytics: Analytics, number: number) =>
    analytics.track({ userId: 'u1', event: 'Bought', properties: { number } })

  it('outlives a refused write key, is reported once, tried again, and sent in order', async () => {
    const { server, spoolDir } = await setUp()
    server.answers.push(refusal, refusal)
    const { analytics, errors } = open(server, spoolDir)
    track(analytics, 0)
    // Resolved by the refusal: nobody waits for the key to be mended.
    await analytics.flush()
    expect(analytics.stats).toEqual({ pending: 1, delivered: 0, dropped: 0 })
    expect(files(spoolDir)).toHaveLength(1)
    track(analytics, 1)
    await vi.waitFor(() => expect(numbers(server)).toHaveLength(3), { timeout: 60_000 })
    void analytics.flush()
    const delivered = { pending: 0, delivered: 2, dropped: 0 }
    await vi.waitFor(() => expect(analytics.stats).toEqual(delivered), { timeout: 60_000 })
    expect(numbers(server)).toEqual([0, 0, 0, 1])
    expect(errors).toMatchObject([{ code: 'kept', status: 401, reason: 'unknown_write_key', messages: [] }])
    expect(files(spoolDir)).toEqual([])
    server.answers.push(refusal)
    track(analytics, 2)
    await analytics.flush()
    expect(errors.map(({ code }) => code)).toEqual(['kept', 'kept'])
  })

  it.each([
    ['refusals', refusal],
    ['redirects', { status: 302, headers: { Location: '/elsewhere' } }],
    ['failures beyond maxRetries', { status: 503 }],
  ])('is there for the next process after %s', async (_name, answer) => {
    const { server, spoolDir } = await setUp()
    server.answers.push(answer)
    const first = open(server, spoolDir, 'key', { maxRetries: 0 })
    track(first.analytics, 0)
    await first.analytics.close()
    expect(first.errors.map(({ code }) => code)).toEqual(['kept'])
    expect(files(spoolDir)).toHaveLength(1)
    const second = open(server, spoolDir)
    await second.analytics.flush()
    expect(server.messages()).toHaveLength(1)
    expect(files(spoolDir)).toEqual([])
  })

  it.each([400, 413])('and is itself at fault (%i) is reported, and does not hold up the rest', async (status) => {
    const { server, spoolDir } = await setUp()
    server.answers.push({ status })
    const { analytics, errors } = open(server, spoolDir, 'key', { flushAt: 1 })
    track(analytics, 0)
    await analytics.flush()
    track(analytics, 1)
    await analytics.flush()
    expect(errors).toMatchObject([{ code: 'refused', status, messages: [{ properties: { number: 0 } }] }])
    expect(numbers(server)).toEqual([0, 1])
    expect(files(spoolDir)).toEqual([])
  })

  it('stays while a batch that was too large is sent in parts', async () => {
    const { server, spoolDir } = await setUp()
    server.answers.push({ status: 413 }, { status: 200 }, 'hang')
    const first = open(server, spoolDir)
    for (let number = 0; number < 4; number++) track(first.analytics, number)
    const flushed = first.analytics.flush()
    await vi.waitFor(() => expect(server.requests).toHaveLength(3), { timeout: 60_000 })
    await first.analytics.close({ timeoutMs: 0 })
    await flushed
    expect(first.errors).toEqual([])
    const second = open(server, spoolDir)
    await second.analytics.flush()
    expect(numbers(server)).toEqual([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3])
    expect(files(spoolDir)).toEqual([])
  })

  it('is given up and reported when it is refused and too old', async () => {
    const { server, spoolDir } = await setUp()
    await crash(server, spoolDir, 3)
    const old = new Date(Date.now() - 2 * HOUR)
    for (const path of files(spoolDir)) utimesSync(path, old, old)
    server.answers.push(refusal)
    const { analytics, errors } = open(server, spoolDir, 'key', { spoolMaxAgeMs: HOUR })
    await analytics.flush()
    expect(errors).toMatchObject([{ code: 'refused', status: 401 }])
    expect(errors[0]?.messages).toHaveLength(3)
    expect(files(spoolDir)).toEqual([])
  })

  it('of another write key is removed and reported when it is too old, and nothing else is', async () => {
    const { server, spoolDir } = await setUp()
    await crash(server, spoolDir, 3)
    const [left = ''] = files(spoolDir)
    const foreign = join(spoolDir, 'notes.ndjson')
    appendFileSync(foreign, '{}\n')
    const old = new Date(Date.now() - 2 * HOUR)
    utimesSync(foreign, old, old)
    const patient = open(server, spoolDir, 'other-key', { spoolMaxAgeMs: HOUR })
    expect(patient.errors).toEqual([])
    utimesSync(left, old, old)
    const { errors } = open(server, spoolDir, 'third-key', { spoolMaxAgeMs: HOUR })
    expect(errors).toMatchObject([{ code: 'gave_up' }])
    expect(errors[0]?.messages).toHaveLength(3)
    expect(files(spoolDir)).toEqual([foreign])
    expect(server.requests).toEqual([])
  })
})
