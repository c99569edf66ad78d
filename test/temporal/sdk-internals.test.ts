/** The inside of the Temporal SDK that the node leans on (`src/temporal/sdk-internals`): an upgrade that changes it fails here. */

import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client, WorkflowFailedError } from '@temporalio/client'
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { historyOf, localResult } from '../../src/temporal/history.ts'
import { createConnectableTemporal } from '../../src/temporal/connection.ts'
import { downloadCli } from '../../src/temporal/sdk-internals/cli-download.ts'
import { isLocalActivity } from '../../src/temporal/sdk-internals/local-activity.ts'
import { workflowFailed } from '../../src/temporal/sdk-internals/log-texts.ts'
import { isCredentialsRefused } from '../../src/temporal/sdk-internals/refused-credentials.ts'
import { isUnanswered } from '../../src/temporal/sdk-internals/unanswered-worker.ts'
import { UnguardedWorker } from '../../src/temporal/sdk-internals/unguarded-worker.ts'
import '../../src/temporal/sdk-internals/unmade-workers.ts'
import { testPayloads } from '../support/sealed-payloads.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const folderOf = (library: string): string => dirname(createRequire(import.meta.url).resolve(`${library}/package.json`))

const logged: string[] = []
// Files share a process: one before this may have left a worker that Temporal never answered.
await Runtime.instance().shutdown()
Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('WARN', ({ message }) => void logged.push(message)) })

describe('a worker', { timeout: 120_000 }, () => {
  let connection: NativeConnection
  let namespace: string
  let client: Client
  beforeAll(async () => {
    namespace = await createNamespace()
    connection = await NativeConnection.connect({ address: temporalAddress() })
    client = new Client({ connection, namespace })
  })
  afterAll(() => connection.close())

  /** A second of work and more, which is beyond the guard's limit. */
  const iterations = 1_000_000_000
  // The SDK takes the limit of its guard, although its types do not have it.
  const optionsOf = (taskQueue: string): WorkerOptions & { isolateExecutionTimeout: string } => ({
    connection,
    namespace,
    taskQueue,
    workflowsPath: join(import.meta.dirname, 'sdk-workflows.ts'),
    activities: { double: async (value: number) => 2 * value },
    isolateExecutionTimeout: '500 ms',
  })
  const execute = (type: string, taskQueue: string, args: unknown[]) =>
    client.workflow.execute(type, {
      taskQueue,
      workflowId: `${taskQueue}-${type}`,
      args,
      workflowTaskTimeout: '60 s',
    })

  it('stops a workflow that loops, and without the guard does not', async () => {
    const guarded = await Worker.create(optionsOf('guarded'))
    await guarded.runUntil(async () => {
      const handle = await client.workflow.start('loop', {
        taskQueue: 'guarded',
        workflowId: 'guarded-loop',
        args: [iterations],
      })
      const wasStopped = async (): Promise<boolean> =>
        (await handle.fetchHistory()).events?.some(({ workflowTaskFailedEventAttributes: failed }) =>
          failed?.failure?.message?.includes('timed out'),
        ) === true
      await expect.poll(wasStopped, { timeout: 60_000 }).toBe(true)
      await handle.terminate()
    })
    const unguarded = await UnguardedWorker.create(optionsOf('unguarded'))
    expect(await unguarded.runUntil(() => execute('loop', 'unguarded', [iterations]))).toBeGreaterThan(0)
  })

  it('records a local activity in the marker that is read', async () => {
    const worker = await UnguardedWorker.create(optionsOf('local'))
    expect(await worker.runUntil(() => execute('doubled', 'local', [21]))).toBe(42)
    const { runId } = await client.workflow.getHandle('local-doubled').describe()
    const temporal = createConnectableTemporal({
      namespace,
      address: temporalAddress(),
      uiUrl: undefined,
      payloads: testPayloads,
    })
    temporal.connected = { namespace, connection, client }
    const results: unknown[] = []
    for await (const event of historyOf(temporal, { workflowId: 'local-doubled', runId }))
      if (isLocalActivity(event)) results.push(localResult(event))
    expect(results).toEqual([42])
  })

  it('logs a workflow that failed in the words that are left out', async () => {
    const worker = await UnguardedWorker.create(optionsOf('failing'))
    await expect(worker.runUntil(() => execute('fail', 'failing', []))).rejects.toBeInstanceOf(WorkflowFailedError)
    expect(logged).toContain(workflowFailed)
  })

  it('that Temporal does not answer says so, and makes room for the next one', async () => {
    await using relay = await startTcpRelay(Number(temporalAddress().split(':')[1]))
    const relayed = await NativeConnection.connect({ address: `127.0.0.1:${relay.port}` })
    onTestFinished(() => relayed.close())
    const failures: unknown[] = []
    const create = (): Promise<Worker | undefined> =>
      UnguardedWorker.create({ ...optionsOf('unmade'), connection: relayed }).catch((error: unknown) => {
        failures.push(error)
        return undefined
      })
    relay.shut()
    expect(await create()).toBeUndefined()
    relay.open()
    const worker = await until('the next one is made', create)
    expect(failures.filter((error) => !isUnanswered(error))).toEqual([])
    expect(await worker.runUntil(() => execute('doubled', 'unmade', [21]))).toBe(42)
  })
})

describe('a connection', () => {
  it.each([
    ['credentials', 16, true],
    ['permission', 7, true],
    ['an answer in time', 4, false],
  ])('that is refused for want of %s says so', async (_what, status, isRefusal) => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/grpc', 'grpc-status': String(status) }).end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const error: unknown = await NativeConnection.connect({ address }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(isCredentialsRefused(error)).toBe(isRefusal)
  })
})

describe('the stack traces of promises', () => {
  it('are taken by code that is compiled in the context of the promise', async () => {
    const code = await readFile(join(folderOf('@temporalio/worker'), 'lib/workflow/vm-shared.js'), 'utf8')
    // Once for the workflow of a promise, and once for the class of its trace.
    expect(code.match(/promise\.constructor\.constructor;/g)).toHaveLength(2)
    expect(code).toContain("('return globalThis.__TEMPORAL_ACTIVATOR__')()")
    expect(code).toContain("fn('return globalThis.Error')()")
  })
})

describe('the download of the CLI', () => {
  it('is kept under the name that is looked for, and started with --help', { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postrider-download-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    // A download that is there already: it is started, and nothing is asked of the network.
    const path = join(folder, 'temporal-v1.5.1')
    await writeFile(path, `#!/bin/sh\necho "$@" > ${folder}/arguments\n`, { mode: 0o755 })
    const executable = { type: 'cached-download', version: 'v1.5.1', downloadDir: folder } as const
    const start = TestWorkflowEnvironment.createLocal({ server: { executable, extraArgs: ['--help'] } })
    await expect(start).rejects.toThrow()
    expect(await readFile(join(folder, 'arguments'), 'utf8')).toContain('--help')
    const options = { env: process.env, signal: AbortSignal.timeout(30_000), onProgress: () => {} }
    expect(await downloadCli('1.5.1', folder, options)).toEqual({ path })
  })

  it('has another name while it is not whole', async () => {
    const source = 'sdk-core/crates/sdk-core/src/ephemeral_server/mod.rs'
    expect(await readFile(join(folderOf('@temporalio/core-bridge'), source), 'utf8')).toContain(
      'format!("{dest_str}.downloading")',
    )
  })
})
