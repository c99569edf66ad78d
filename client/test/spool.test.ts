/** What survives a crash, and that it is sent once, by one process. */

import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Analytics } from '@postrider/analytics'
import type { DeliveryError } from '@postrider/analytics'
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

function open(server: IngestServer, spoolDir: string, writeKey = 'key') {
  const errors: DeliveryError[] = []
  const analytics = new Analytics(writeKey, {
    endpoint: server.url,
    spoolDir,
    flushAfter: HOUR,
    onError: (error) => void errors.push(error),
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
    await vi.waitFor(() => expect(server.messages()).toMatchObject([{ userId: 'u1' }]), { timeout: 20_000 })
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
