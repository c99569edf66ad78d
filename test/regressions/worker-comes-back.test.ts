/** Symptom: a node ended with an unhandled rejection when its worker failed twice in a row; one whose worker was dead for
 *  good went on looking healthy.
 *  Cause: the new worker was made inside the `catch` that the failure of the old one had led to, and nothing watched it.
 *  Consequence: events were taken that nobody delivered. */

import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { NativeConnection } from '@temporalio/worker'
import { Client, Connection } from '@temporalio/client'
import { pino } from 'pino'
import { expect, inject, it, onTestFinished } from 'vitest'
import { taskQueue } from '../../src/contracts/names.ts'
import { findFreePorts } from '../../src/ports.ts'
import { endProcess } from '../../src/process-identity.ts'
import { createConnectableTemporal } from '../../src/temporal/connection.ts'
import { toDuration } from '../../src/temporal/durations.ts'
import { startEmbeddedServer } from '../../src/temporal/embedded-server.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { prepareWorker } from '../../src/temporal/worker.ts'
import { startTestApp } from '../support/app.ts'
import { testConverter, testPayloads } from '../support/sealed-payloads.ts'
import { makeServerFolder } from '../support/temporal.ts'
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
    const serve = (dataDir = '') =>
      startEmbeddedServer({ cli: inject('temporalCli'), dataDir, port, uiPort, onProgress: () => {} })
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
