/** Symptom: a node ended with an unhandled rejection when its worker failed twice in a row; one whose worker was dead for
 *  good went on looking healthy.
 *  Cause: the new worker was made inside the `catch` that the failure of the old one had led to, and nothing watched it.
 *  Consequence: events were taken that nobody delivered.
 *
 *  Symptom: a node whose Temporal stood still as its worker was made said again and again that another worker was in its place, and was told
 *  dead after two minutes.
 *  Cause: the SDK left the worker of which Temporal had not answered to the garbage collector.
 *  Consequence: Temporal was back, and the node delivered nothing before the collector had come.
 *
 *  Symptom: a node that was stopped just as its Temporal was back told "Cannot close connection while Workers hold a reference to it".
 *  Cause: the worker that was being made held the connection, and what came after the closing was left out.
 *  Consequence: the embedded server was not stopped with its node. */

import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { NativeConnection, Worker } from '@temporalio/worker'
import { Client, Connection } from '@temporalio/client'
import { pino } from 'pino'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { prepareTemporal } from '../../src/composition/open-temporal.ts'
import { readConfig } from '../../src/config.ts'
import { taskQueue } from '../../src/contracts/names.ts'
import { findFreePorts } from '../../src/ports.ts'
import { endProcess } from '../../src/process-identity.ts'
import { createConnectableTemporal } from '../../src/temporal/connection.ts'
import { toDuration } from '../../src/temporal/durations.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { prepareWorker } from '../../src/temporal/worker.ts'
import { startTestApp } from '../support/app.ts'
import { testConverter, testPayloads } from '../support/sealed-payloads.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { createNamespace, makeServerFolder, startServer, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

/** What Temporal refuses ends a worker after a minute. */
const refusedLimitMs = 120_000
it(
  'works on after Temporal was killed, tells when its namespace is gone, and works again when that is back',
  { timeout: 300_000 },
  async () => {
    const namespace = 'moved'
    const [port = 0, uiPort = 0] = await findFreePorts('127.0.0.1', 2)
    const folders = [await makeServerFolder(), await makeServerFolder()]
    const serve = (dataDir = '') => startServer(dataDir, { port, uiPort })
    let server = await serve(folders[0])
    const { address } = server
    const admin = await Connection.connect({ address })
    const registerNamespace = () =>
      admin.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: toDuration(86_400_000) })
    await registerNamespace()

    const connection = await NativeConnection.connect({ address })
    const temporal = createConnectableTemporal({ namespace, address, uiUrl: undefined, payloads: testPayloads })
    temporal.connected = {
      namespace,
      connection,
      client: new Client({ connection, namespace, dataConverter: testConverter }),
    }
    const code = { workflowsPath: join(import.meta.dirname, '../topology/echo-workflow.ts') }
    const worker = prepareWorker(temporal, code, {}, pino({ level: 'silent' }), {
      healthyMs: 1_000,
      deadAfterMs: 1_000,
    })
    const works = (id: string) =>
      until(
        'the worker works',
        () =>
          temporal.client.workflow
            .execute('echo', { taskQueue, workflowId: id, args: ['hello'], workflowExecutionTimeout: '20 s' })
            .then(
              (answer) => answer === 'hello',
              () => false,
            ),
        refusedLimitMs,
      )
    try {
      await worker.start()
      await works('first')

      const note = await readNote(folders[0] ?? '')
      if (note === undefined) throw new Error('the server is not noted')
      await endProcess(note, 0)
      await works('after-the-kill')
      expect(worker.deadReason()).toBeUndefined()

      await server.stop()
      server = await serve(folders[1])
      const reason = await until('the worker is told dead', () => worker.deadReason(), refusedLimitMs)
      expect(reason).toMatch(/^the worker goes on failing: .*(namespace|Namespace)/)

      await registerNamespace()
      await works('in-the-new-namespace')
      await until('it is healthy again', () => worker.deadReason() === undefined, refusedLimitMs)
    } finally {
      await worker.stop()
      await connection.close()
      await admin.close()
      await server.stop()
      for (const folder of folders) await rm(folder, { recursive: true, force: true })
    }
  },
)

describe('while Temporal does not answer', () => {
  /** A worker that was not started yet, behind a relay. */
  async function workerBehindRelay() {
    const relay = await startTcpRelay(Number(temporalAddress().split(':')[1]))
    onTestFinished(() => relay[Symbol.asyncDispose]())
    const [namespace, address] = [await createNamespace(), `127.0.0.1:${relay.port}`]
    const connection = await NativeConnection.connect({ address })
    onTestFinished(() => connection.close())
    const client = new Client({ connection, namespace, dataConverter: testConverter })
    const temporal = createConnectableTemporal({ namespace, address, uiUrl: undefined, payloads: testPayloads })
    let made = 0
    temporal.connected = {
      namespace,
      client,
      get connection() {
        made++
        return connection
      },
    }
    const code = { workflowsPath: join(import.meta.dirname, '../topology/echo-workflow.ts') }
    const lines: string[] = []
    const logger = pino({}, { write: (line) => void lines.push(line) })
    const worker = prepareWorker(temporal, code, {}, logger, { healthyMs: 1_000, deadAfterMs: 0 })
    onTestFinished(() => worker.stop())
    return { relay, client, worker, lines, made: () => made }
  }

  it('waits for it, and is not told dead meanwhile', async () => {
    const { relay, client, worker, lines, made } = await workerBehindRelay()
    relay.shut()
    const started = worker.start()
    await until('it is tried again', () => made() > 1, refusedLimitMs)
    expect(worker.deadReason()).toBeUndefined()
    relay.open()
    await started
    const start = { taskQueue, workflowId: 'once-it-answers', args: ['hello'] }
    expect(await client.workflow.execute('echo', start)).toBe('hello')
    expect(lines).toEqual([])
  })

  it('a stop does not wait for it', async () => {
    const { relay, worker, made } = await workerBehindRelay()
    relay.freeze()
    const started = worker.start()
    await until('it is tried', () => made() > 0)
    const stopped = worker.stop().then(() => true)
    // Longer than a stop takes, and shorter than Temporal is waited for.
    expect(await Promise.race([stopped, sleep(20_000, false)])).toBe(true)
    await started
    relay.open()
  })
})

it('an embedded server is stopped although a worker holds the connection', async () => {
  const dataDir = await makeServerFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const [port, uiPort] = await findFreePorts('127.0.0.1', 2)
  const config = readConfig({ POSTRIDER_TEMPORAL_PORT: String(port), POSTRIDER_TEMPORAL_UI_PORT: String(uiPort) })
  const options = {
    logger: pino({ level: 'silent' }),
    environment: process.env,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  }
  const opening = prepareTemporal(config, dataDir, testPayloads, options)
  await opening.open()
  const { connection, namespace } = opening.temporal
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowsPath: join(import.meta.dirname, '../topology/echo-workflow.ts'),
  })
  expect(await readNote(dataDir)).toBeDefined()
  await opening.close()
  expect(await readNote(dataDir)).toBeUndefined()
  const ended = worker.run()
  worker.shutdown()
  await ended.catch(() => undefined)
})

it('a node that can make no worker is dead at /healthz, goes on trying, and lives once it can', async () => {
  const folder = await makeServerFolder()
  const [port] = await findFreePorts('127.0.0.1', 1)
  const codePath = join(folder, 'workflows.js')
  const healthz = async (): Promise<{ status: number; text: string } | undefined> => {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)
    return answer && { status: answer.status, text: await answer.text() }
  }
  const starting = startTestApp({
    environment: { PORT: String(port) },
    logger: pino({ level: 'silent' }),
    workflowCode: { workflowBundle: { codePath } },
    workerLimits: { healthyMs: 100, deadAfterMs: 3_000 },
  })
  onTestFinished(async () => {
    await copyFile(inject('workflowBundle'), codePath)
    await (await starting)[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })
  expect(await until('it listens', healthz)).toMatchObject({ status: 200 })
  const dead = await until('it is dead', async () => {
    const answer = await healthz()
    return answer?.status !== 200 && answer
  })
  expect(dead.status).toBe(503)
  expect(JSON.parse(dead.text)).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^The worker goes on failing: .*workflows\.js/) as string,
  })
  await copyFile(inject('workflowBundle'), codePath)
  await starting
  await until('it lives', async () => (await healthz())?.status === 200)
})
