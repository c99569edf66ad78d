/** A node whose workflows are recorded, and what a path of a workflow is made with. */

import { createHash } from 'node:crypto'
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { WorkflowHandle } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { pino } from 'pino'
import { startApp, type App } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { packageVersion } from '../../src/package-version.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { findTemporalCli } from '../../src/temporal/cli-binary.ts'
import { workflowCode } from '../../src/temporal/workflow-code.ts'
import '../../test/support/quiet-temporal.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { encryptionKeys } from '../../test/support/sealed-payloads.ts'
import { startReceiver, type Answer, type Receiver } from '../../test/support/receiver.ts'
import { startTcpRelay, type TcpRelay } from '../../test/support/tcp-relay.ts'

/** Path → starts a workflow that takes it; recorded once it is closed. */
export type Paths = Record<string, () => Promise<WorkflowHandle>>

export interface Recorder {
  app: App
  /** What leads to the node's database. */
  database: TcpRelay
  /** Calls the management API. */
  call: <Body>(method: string, path: string, body?: unknown) => Promise<Body>
  receiver: (...inTurn: Answer[]) => Promise<Receiver>
  /** A destination with an endpoint for each list of answers, which it gives in turn. */
  destinationFor: (...answers: Answer[][]) => Promise<Destination>
  /** @throws Error at a path that the version in the making has a history of */
  record(paths: Paths): Promise<void>
  stop(): Promise<void>
}

/** Of the version in the making. */
const folder = join(import.meta.dirname, '../../test/histories', packageVersion())

/** @param dynamicConfig  settings of its Temporal server beside those of every embedded one */
export async function startRecorder(dynamicConfig: Record<string, string> = {}): Promise<Recorder> {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-record-'))
  const postgres = await startPostgres()
  const database = await startTcpRelay(postgres.port)
  const databaseUrl = new URL(await postgres.createDatabase())
  databaseUrl.port = String(database.port)
  const environment = {
    ...process.env,
    DATABASE_URL: databaseUrl.href,
    PATH: [await wrapCli(dataDir, dynamicConfig), process.env['PATH']].join(delimiter),
    PORT: '0',
    POSTRIDER_DATA_DIR: join(dataDir, 'data'),
    POSTRIDER_TEMPORAL_PORT: '0',
    POSTRIDER_TEMPORAL_UI_PORT: '0',
    POSTRIDER_QUICKSTART_PORT: '0',
    POSTRIDER_ENCRYPTION_KEYS: encryptionKeys,
    POSTRIDER_RETRY_INITIAL: '200ms',
    POSTRIDER_RETRY_MAX: '1s',
  }
  const app = await startApp(readConfig(environment), {
    logger: pino({ level: 'fatal' }),
    environment,
    onProgress: () => {},
    onReceived: () => {},
    signal: new AbortController().signal,
    workflowCode: workflowCode(),
  })
  const receivers: Receiver[] = []

  const call = async <Body>(method: string, path: string, body?: unknown): Promise<Body> => {
    const response = await fetch(`${app.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${app.adminToken}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Body
  }
  const receiver = async (...inTurn: Answer[]): Promise<Receiver> => {
    const started = await startReceiver()
    started.answerInTurn(...inTurn)
    receivers.push(started)
    return started
  }

  return {
    app,
    database,
    call,
    receiver,
    async destinationFor(...answers) {
      const webhooks: { url: string }[] = []
      for (const inTurn of answers) webhooks.push({ url: (await receiver(...inTurn)).url })
      return call('POST', '/destinations', { name: 'Recorded', type: 'webhooks', settings: { webhooks } })
    },
    async record(paths) {
      for (const [name, start] of Object.entries(paths)) {
        const handle = await start()
        const end = await handle.result().then(
          () => 'completed',
          (error: Error) => (error.cause instanceof Error ? error.cause.name : error.name),
        )
        const history: unknown = JSON.parse(historyToJSON(await handle.fetchHistory()))
        await keep(`${name}.json`, `${JSON.stringify(history, anonymous, 1)}\n`)
        console.log(`${name}: ${end}`)
      }
    },
    async stop() {
      await Promise.all(receivers.map((each) => each.close()))
      await app.stop()
      await database[Symbol.asyncDispose]()
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Adds a history to the folder. @throws Error when the folder has one of this name: none is recorded anew */
async function keep(file: string, content: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, file), content, { flag: 'wx' })
  const digest = createHash('sha256').update(content).digest('hex')
  await appendFile(join(folder, 'SHA256SUMS'), `${digest}  ${file}\n`)
}

/** A `temporal` command that starts servers with further settings. @returns its folder */
async function wrapCli(parent: string, dynamicConfig: Record<string, string>): Promise<string> {
  const cli = await findTemporalCli({ env: process.env, onProgress: () => {} })
  const values = Object.entries(dynamicConfig).map(([key, value]) => ` --dynamic-config-value ${key}=${value}`)
  const script = `#!/bin/sh\n[ "$1" = server ] && exec '${cli}' "$@"${values.join('')}\nexec '${cli}' "$@"\n`
  const directory = await mkdtemp(join(parent, 'bin-'))
  await writeFile(join(directory, 'temporal'), script, { mode: 0o755 })
  return directory
}

/** Without what tells of the machine that recorded it. */
const anonymous = (key: string, value: unknown): unknown => {
  if (key === 'stackTrace') return ''
  return typeof value === 'string' ? value.replaceAll(`${process.pid}@${hostname()}`, 'node') : value
}
