/** The log: what a node writes, and that `docs/logs.md` lists it. */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify, { type FastifyBaseLogger } from 'fastify'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { AppError } from '../src/errors.ts'
import { answerErrors } from '../src/http/errors.ts'
import { createLogger, libraryLine, type LogOptions, type Logger } from '../src/logger.ts'
import { logSdkLines } from '../src/temporal/sdk-log.ts'
import { apiOf, makeDataFolder, testEnvironment } from './support/app.ts'
import { documentedLogs, logCalls } from './support/log-lines.ts'
import { openRawClient } from './support/raw-client.ts'
import { startProgram } from './support/program.ts'
import { startReceiver } from './support/receiver.ts'
import { startTcpRelay } from './support/tcp-relay.ts'
import { createNamespace } from './support/temporal.ts'
import { until } from './support/wait.ts'

const { lines: documented, fields: documentedFields } = documentedLogs()

describe('docs/logs.md', () => {
  const calls = logCalls()

  it('lists each line with its levels, and nothing else', () => {
    const named = calls.flatMap(({ name, level }) => (name === undefined ? [] : [{ name, level }]))
    expect([...documented.keys()].toSorted()).toEqual(
      [...new Set([...named.map(({ name }) => name), libraryLine])].toSorted(),
    )
    const wrong = named.filter(({ name, level }) => level !== '?' && !documented.get(name)?.includes(level))
    expect(wrong).toEqual([])
  })

  it('lists each field', () => {
    expect(calls.flatMap(({ fields }) => fields).filter((field) => !documentedFields.includes(field))).toEqual([])
  })

  it('has no line without a name, but where the name is handed over', () => {
    const nameless = calls.filter(({ name }) => name === undefined)
    expect(nameless.map(({ file }) => file)).toEqual(['src/commands/start.ts'])
  })
})

/** A logger that writes to a file, and what it wrote. */
async function fileLogger(options: Partial<LogOptions> = {}): Promise<{ logger: Logger; text: () => Promise<string> }> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-log-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const destination = join(folder, 'log')
  const logger = await createLogger({ level: 'trace', version: '1.2.3', role: 'api,worker', destination, ...options })
  // The file is there once it was opened, and the text soon after it was logged.
  return { logger, text: () => readFile(destination, 'utf8').catch(() => '') }
}

const linesIn = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('a line', () => {
  it('names level, time, node and version', async () => {
    const { logger, text } = await fileLogger()
    logger.info({ attempt: 1 }, 'delivery.attempted')
    const [line] = linesIn(await until('it is written', async () => (await text()) || undefined))
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      node: expect.stringMatching(new RegExp(`^${process.pid}@.`)) as unknown,
      version: '1.2.3',
      role: 'api,worker',
      attempt: 1,
      msg: 'delivery.attempted',
    })
  })

  it('is for people where that is asked for', async () => {
    const { logger, text } = await fileLogger({ format: 'pretty' })
    logger.warn({ part: 'database' }, 'part.away')
    const line = await until('it is written', async () => (await text()) || undefined)
    expect(line).toMatch(/^\S*\[\d\d:\d\d:\d\d\.\d{3}\].*WARN.*part\.away.*"part":"database"/)
    expect(line).not.toContain('1.2.3')
  })
})

it('takes of a line of the HTTP library what holds nothing of a request', async () => {
  const { logger, text } = await fileLogger()
  const loggerInstance: FastifyBaseLogger = logger
  const server = fastify({ loggerInstance })
  onTestFinished(() => server.close())
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  await openRawClient(url, 'secret of a caller\r\n\r\n')
  const lines = await until('both are told', async () => {
    const told = linesIn(await text())
    return told.length > 1 && told
  })
  expect(lines).toMatchObject([
    { level: 'info', text: `Server listening at ${url}`, msg: 'http.server' },
    { level: 'trace', error: expect.stringContaining('Parse Error') as unknown, msg: 'http.server' },
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

it('tells of a fault what failed where, without query, row or id of a delivery', async () => {
  const { logger, text } = await fileLogger()
  const loggerInstance: FastifyBaseLogger = logger
  const server = fastify({ loggerInstance })
  onTestFinished(() => server.close())
  answerErrors(server)
  server.get('/api/v1/deliveries/:id', () => {
    throw Object.assign(new Error('duplicate key'), { detail: 'Key (user_id)=(u-secret) already exists.' })
  })
  const { statusCode } = await server.inject('/api/v1/deliveries/event%2Fsrc_1%2Fm-secret?token=t-secret')
  expect(statusCode).toBe(500)
  const line = await until('it is told', async () => linesIn(await text()).find(({ msg }) => msg === 'request.failed'))
  expect(line).toMatchObject({
    level: 'error',
    method: 'GET',
    path: '/api/v1/deliveries/:id',
    status: 500,
    code: 'internal_error',
    error: 'duplicate key',
    stack: expect.stringContaining('logs.test.ts') as unknown,
  })
  expect(JSON.stringify(line)).not.toContain('secret')
})

it('tells of a request that nothing can take why, in a short line', async () => {
  const { logger, text } = await fileLogger()
  const loggerInstance: FastifyBaseLogger = logger
  const server = fastify({ loggerInstance })
  onTestFinished(() => server.close())
  answerErrors(server)
  server.post('/v1/track', () => {
    throw new AppError('unavailable', 'nothing takes events now', { cause: new Error('No space left on device') })
  })
  expect((await server.inject({ method: 'POST', url: '/v1/track' })).statusCode).toBe(503)
  const line = await until('it is told', async () =>
    linesIn(await text()).find(({ msg }) => msg === 'request.unavailable'),
  )
  expect(line).toMatchObject({ level: 'warn', error: 'nothing takes events now: No space left on device' })
  expect(line).not.toHaveProperty('stack')
})

it('takes of a line of the SDK what holds nothing of an event', async () => {
  const { logger, text } = await fileLogger()
  const meta = {
    sdkComponent: 'worker',
    runId: 'run-1',
    workflowId: 'event/src_1/m-secret',
    activityType: 'retryDelivery',
    args: ['secret'],
    error: new Error('lost'),
  }
  logSdkLines(logger)({ level: 'ERROR', message: 'Activity failed', timestampNanos: 0n, meta })
  const [line] = linesIn(await until('it is written', async () => (await text()) || undefined))
  expect(line).toMatchObject({
    level: 'error',
    runId: 'run-1',
    activityType: 'retryDelivery',
    error: 'lost',
    text: 'Activity failed',
    msg: 'temporal.sdk',
  })
  expect(JSON.stringify(line)).not.toContain('secret')
})

it('takes of the native core the message of an error, and no repeat of a line', async () => {
  const { logger, text } = await fileLogger()
  const log = logSdkLines(logger)
  const tell = (message: string, error: string): void =>
    log({ level: 'WARN', message, timestampNanos: 0n, meta: { sdkComponent: 'core', error } })
  const printed = 'Status { code: Unavailable, message: "shard status unknown", metadata: MetadataMap { headers: {} } }'
  for (let retries = 8; retries < 12; retries++)
    tell(`gRPC call start_workflow_execution retried ${retries} times`, printed)
  tell('the last line', 'in other words')
  const lines = await until('all are told', async () => {
    const told = linesIn(await text())
    return told.at(-1)?.['text'] === 'the last line' && told
  })
  expect(lines).toMatchObject([
    { text: 'gRPC call start_workflow_execution retried 8 times', error: 'shard status unknown', msg: 'temporal.core' },
    { text: 'the last line', error: 'in other words', msg: 'temporal.core' },
  ])
})

it('holds no body, secret, user id or message id, whatever fails and however much is told', async () => {
  const secrets = {
    writeKeyHeader: 'header-of-the-endpoint',
    path: 'token-in-the-path',
    query: 'token-in-the-query',
    sharedSecret: `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
    userId: 'user-to-be-hidden',
    messageId: 'message-to-be-hidden',
    property: 'property-to-be-hidden',
    answer: 'answer-of-the-receiver',
  }
  const relay = await startTcpRelay(Number(inject('temporalAddress').split(':')[1]))
  onTestFinished(() => relay[Symbol.asyncDispose]())
  const dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const environment = testEnvironment(await createNamespace(), dataDir)
  const program = startProgram({ ...environment, TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}`, LOG_LEVEL: 'trace' })
  const node = apiOf(await program.url())
  const lines = (): Record<string, unknown>[] => linesIn(program.stderr().replace(/[^\n]*$/, ''))
  const attempts = () => lines().filter(({ msg }) => msg === 'delivery.attempted')

  const hidden = `/${secrets.path}?key=${secrets.query}`
  await using failing = await startReceiver()
  failing.answerInTurn({ status: 503, body: secrets.answer }, { status: 400, body: secrets.answer })
  await using moved = await startReceiver()
  moved.answer({ status: 302, headers: { location: `https://${secrets.answer}.example/` } })
  await using silent = await startReceiver()
  silent.answer('hang')
  const source = await node.createSource()
  const headers = { 'X-Api-Key': secrets.writeKeyHeader }
  for (const { url } of [failing, moved, silent])
    await node.connect([source], [url + hidden], { headers, sharedSecret: secrets.sharedSecret })
  const { userId, messageId, property } = secrets
  const event = { type: 'track', event: 'E', userId, messageId, properties: { property } }
  expect((await node.post('/track', source.writeKey, event)).status).toBe(200)
  expect((await node.post('/track', source.writeKey, { ...event, userId: { property } })).status).toBe(400)
  expect((await node.api('GET', `/deliveries?userId=${userId}&status=${property}`)).status).toBe(400)
  // The id of a delivery as it is, without %2F in place of its slashes; and the key of a source that is switched off.
  expect((await node.api('GET', `/deliveries/event/${source.id}/${messageId}`)).status).toBe(404)
  const off = await node.createSource()
  await node.api('PATCH', `/sources/${off.id}`, { enabled: false })
  expect((await fetch(`${node.url}/v1/projects/${off.writeKey}/settings`)).status).toBe(401)

  await until('all is told', () => attempts().some(({ code }) => code === 'timeout') && attempts().length >= 4)
  const [{ id: destinationId, settings } = { id: '', settings: { webhooks: [] } }] = (
    await node.api<{ items: { id: string; settings: { webhooks: { id: string; url: string }[] } }[] }>(
      'GET',
      '/destinations',
    )
  ).body.items.filter((one) => one.settings.webhooks[0]?.url.startsWith(failing.url) === true)
  const ofFailing = attempts().filter((line) => line['destinationId'] === destinationId)
  expect(ofFailing).toMatchObject(
    [
      { level: 'info', attempt: 1, outcome: 'unavailable', status: 503 },
      { level: 'info', attempt: 2, outcome: 'rejected', status: 400 },
    ].map((facts) => ({ ...facts, sourceId: source.id, endpointId: settings.webhooks[0]?.id, code: 'http_status' })),
  )
  expect(attempts().find(({ code }) => code === 'timeout')).toMatchObject({ level: 'warn', outcome: 'unavailable' })

  relay.shut()
  await until('Temporal is missed', () => lines().some(({ msg }) => String(msg).startsWith('temporal.')))
  relay.open()
  program.signal('SIGTERM')
  expect(await program.exited).toBe(0)
  expect(lines().at(-1)).toMatchObject({ level: 'info', msg: 'node.stopped' })

  const told = program.stderr()
  const leaked = Object.entries({
    ...secrets,
    writeKey: source.writeKey,
    writeKeyOff: off.writeKey,
    adminToken: environment['POSTRIDER_ADMIN_TOKEN'],
    encryptionKey: environment['POSTRIDER_ENCRYPTION_KEYS']?.split(':')[1],
  })
  expect(leaked.filter(([, secret]) => told.includes(secret ?? '?')).map(([name]) => name)).toEqual([])
  for (const line of lines()) {
    expect(line).toMatchObject({
      level: expect.any(String) as unknown,
      node: expect.any(String) as unknown,
      version: expect.any(String) as unknown,
    })
    expect(documented.get(String(line['msg'])), JSON.stringify(line)).toContain(line['level'])
    expect(Object.keys(line).filter((field) => !documentedFields.includes(field))).toEqual([])
  }
})
