/** Symptom: a node that was started while Temporal or its database was away ended after a minute, or at once.
 *  Cause: everything that a node stands on was opened before it listened.
 *  Consequence: a restart during an outage stopped the ingest, although the inbox could have held the events. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { findFreePorts } from '../../src/ports.ts'
import type { Status } from '../../src/schemas/system.ts'
import { endOrphan } from '../../src/temporal/embedded-server.ts'
import { apiOf, makeDataFolder, testEnvironment, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startProgram, type Program } from '../support/program.ts'
import { isComplete, readinessOf } from '../support/readiness.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { createNamespace, makeServerFolder, startServer } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 180_000
const limitMs = 60_000

/** Longer than a node waits between two writes of what it writes in groups. */
const betweenWritesMs = 3_000

const messageIds = Array.from({ length: 20 }, (_, n) => `early-${n}`)
const track = (messageId: string) => ({ messageId, userId: 'u1', event: 'E' })

const arrived = ({ requests }: Receiver): Set<string> =>
  new Set(requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId))

/** Connects a source with the receiver, and sends all events. @returns statuses of the answers */
async function send(node: Pick<TestApp, 'createSource' | 'connect' | 'post'>, receiver: Receiver): Promise<number[]> {
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  return Promise.all(messageIds.map(async (id) => (await node.post('/track', source.writeKey, track(id))).status))
}

const linesOf = (node: Program, text: string): string[] =>
  (node.stdout() + node.stderr()).split('\n').filter((line) => line.includes(text))

let dataDir: string
let url: string
let port: number
beforeEach(async ({ onTestFinished }) => {
  dataDir = await makeDataFolder()
  onTestFinished(async () => {
    await endOrphan(dataDir)
    await rm(dataDir, { recursive: true, force: true })
  })
  ;[port = 0] = await findFreePorts('127.0.0.1', 1)
  url = `http://127.0.0.1:${port}`
})

const settings = (more: Record<string, string>, namespace = 'default') => ({
  ...testEnvironment(namespace, dataDir),
  PORT: String(port),
  ...more,
})

describe('a node that is started while Temporal is away', () => {
  it('takes events, says what is missing, and delivers when Temporal is there', { timeout }, async () => {
    const [temporalPort = 0, uiPort = 0] = await findFreePorts('127.0.0.1', 2)
    await using receiver = await startReceiver()
    await using program = startProgram(settings({ TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}` }))
    const node = apiOf(url)
    const missing = [{ part: 'temporal', reason: expect.stringContaining('refused') as string }]
    await until('it can take events', async () => (await readinessOf(url))?.status === 200, limitMs)
    await until('the log tells it', () => linesOf(program, '"part.away"').length > 0)
    expect(await readinessOf(url)).toMatchObject({ status: 200, missing })
    expect((await fetch(`${url}/healthz`)).status).toBe(200)

    expect(new Set(await send(node, receiver))).toEqual(new Set([200]))
    expect((await node.api<Status>('GET', '/status')).body).toMatchObject({ missing, temporal: { healthy: false } })
    const list = await node.api<{ code: string; message: string }>('GET', '/deliveries?status=delivered')
    expect(list).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(list.body.message).toContain('Temporal is away')
    expect(linesOf(program, '"part.away"')).toHaveLength(1)
    expect(program.stdout()).not.toContain('is ready')

    const folder = await makeServerFolder()
    const temporal = await startServer(folder, { port: temporalPort, uiPort })
    onTestFinished(() => temporal.stop())
    await until('all is there', () => isComplete(url), limitMs)
    await until('all events have arrived', () => arrived(receiver).size === messageIds.length, limitMs)
    expect(receiver.requests).toHaveLength(messageIds.length)
    expect((await node.api<Status>('GET', '/status')).body.missing).toEqual([])
    for (const name of ['"part.away"', '"part.back"'])
      expect(linesOf(program, name)).toEqual([expect.stringContaining(`"address":"127.0.0.1:${temporalPort}"`)])
    expect(await program.url()).toContain(String(port))
    program.signal('SIGTERM')
    expect(await program.exited).toBe(0)
  })

  it('takes events while its own server is still being started', { timeout }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const command = join(folder, 'temporal')
    const leave = join(folder, 'leave')
    const slow = `#!/bin/sh\nwhile [ ! -e '${leave}' ]; do sleep 0.1; done\nexec '${inject('temporalCli')}' "$@"\n`
    await writeFile(command, slow, { mode: 0o755 })
    await using receiver = await startReceiver()
    const path = [folder, process.env['PATH']].join(delimiter)
    const embedded = { TEMPORAL_ADDRESS: '', POSTRIDER_TEMPORAL_PORT: '0', POSTRIDER_TEMPORAL_UI_PORT: '0' }
    await using program = startProgram(settings({ ...embedded, PATH: path, POSTRIDER_QUICKSTART_PORT: '0' }))
    await until('it can take events', async () => (await readinessOf(url))?.status === 200, limitMs)
    expect((await readinessOf(url))?.missing).toMatchObject([{ part: 'temporal', reason: 'it is being opened' }])
    expect(new Set(await send(apiOf(url), receiver))).toEqual(new Set([200]))
    await writeFile(leave, '')
    await until('all events have arrived', () => arrived(receiver).size === messageIds.length, limitMs)
    program.signal('SIGTERM')
    expect(await program.exited).toBe(0)
  })

  it.for([
    [
      'an address that is none',
      { TEMPORAL_ADDRESS: 'two words' },
      /^postrider: Temporal at two words cannot be used: /,
    ],
    [
      'a certificate file that is not there',
      { TEMPORAL_TLS_CLIENT_CERT_PATH: '/nowhere/cert.pem', TEMPORAL_TLS_CLIENT_KEY_PATH: '/nowhere/key.pem' },
      /^postrider: The settings of Temporal cannot be used: .*\/nowhere\/cert\.pem/,
    ],
  ] as const)('does not wait with %s', { timeout }, async ([, fault, line]) => {
    await using program = startProgram(settings(fault))
    expect(await program.exited).toBe(1)
    const said = program.stderr().split('\n')
    expect(said.filter((text) => text.startsWith('postrider: '))).toEqual([expect.stringMatching(line)])
  })
})

describe.skipIf(findPostgres() === undefined)('a node that is started while PostgreSQL is away', () => {
  it('answers who asks for lists and counts before it is there', { timeout }, async () => {
    await using program = startProgram(settings({ DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x' }))
    const node = apiOf(url)
    await until('it listens', async () => (await readinessOf(url)) !== undefined, limitMs)
    for (const path of [
      '/deliveries',
      '/deliveries/count',
      '/deliveries/steerable?action=retry',
      '/overview',
      '/activity',
    ])
      expect(await node.api('GET', path), path).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect((await fetch(`${url}/healthz`)).status, program.stderr()).toBe(200)
  })

  it('waits for it, says so, and does not wait for a database that does not exist', { timeout }, async () => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const database = await postgres.createDatabase()
    // The door to the server that is opened later.
    const door = createServer((socket) => {
      const upstream = connect(postgres.port, '127.0.0.1')
      socket.pipe(upstream).pipe(socket)
      for (const end of [socket, upstream]) end.on('error', () => end.destroy())
    })
    onTestFinished(() => void door.close())
    const [doorPort = 0] = await findFreePorts('127.0.0.1', 1)
    const through = new URL(database)
    through.port = String(doorPort)
    const namespace = await createNamespace()
    await using receiver = await startReceiver()
    await using program = startProgram(settings({ DATABASE_URL: through.href }, namespace))
    const readiness = await until('it listens', () => readinessOf(url), limitMs)
    expect(readiness).toMatchObject({ status: 503, message: expect.stringContaining('database') as string })
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const refused = await fetch(`${url}/v1/track`, {
      method: 'POST',
      body: JSON.stringify({ ...track('refused'), writeKey: 'any' }),
    })
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const node = apiOf(url)
    const sources = await node.api<{ code: string; message: string }>('GET', '/sources')
    expect(sources).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(sources.body.message).toContain('database is away')
    const missing = async () => (await node.api<Status>('GET', '/status')).body.missing
    await until('Temporal is there', async () => (await missing()).every(({ part }) => part !== 'temporal'), limitMs)
    expect(await missing()).toMatchObject([{ part: 'database' }])
    await until('the log tells it', () => linesOf(program, '"part.away"').length === 1)
    // Who watches the node is told what it does not know, and not that it is away.
    const metrics = await fetch(`${url}/metrics`)
    expect([metrics.status, await metrics.text()]).toEqual([200, expect.stringContaining('process_cpu_seconds_total')])
    const told = performance.now()
    await until('what is written in groups was tried again', async () => {
      await readinessOf(url)
      return performance.now() - told > betweenWritesMs
    })
    expect(program.stderr().match(/^\{"level":"(warn|error|fatal)".*$/gm)).toEqual([
      expect.stringContaining('"part.away"'),
    ])

    door.listen(doorPort, '127.0.0.1')
    await until('all is there', () => isComplete(url), limitMs)
    expect(new Set(await send(node, receiver))).toEqual(new Set([200]))
    await until('all events have arrived', () => arrived(receiver).size === messageIds.length, limitMs)
    expect(linesOf(program, '"part.back"')).toHaveLength(1)
    program.signal('SIGTERM')
    expect(await program.exited).toBe(0)

    const wrong = new URL(database)
    wrong.pathname = '/nobody-made-it'
    await using other = startProgram(settings({ DATABASE_URL: wrong.href }, namespace))
    expect(await other.exited).toBe(1)
    expect(other.stderr()).toMatch(/^postrider: The database cannot be used: .*"nobody-made-it"/m)
    expect(other.stderr()).not.toContain(wrong.password)
  })
})
