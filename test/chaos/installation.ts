/** What a chaos run breaks: a node with its embedded Temporal server, and its PostgreSQL where there is one. */

import { readFile, rm } from 'node:fs/promises'
import { findFreePorts } from '../../src/ports.ts'
import { isRunning } from '../../src/process-identity.ts'
import { endOrphan } from '../../src/temporal/embedded-server.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { commandInTest } from '../support/built-command.ts'
import { spawnTethered, type TetheredProcess } from '../support/tethered-process.ts'
import { until } from '../support/wait.ts'
import type { ChaosPostgres } from './postgres.ts'

export interface InstallationOptions {
  dataDir: string
  postgres: ChaosPostgres | undefined
  /** Beside those of the run. */
  environment: Record<string, string>
}

export interface Installation {
  url: string
  /** Calls the management API below `/api/v1`; posts when there is a body. */
  api: <Answer>(path: string, body?: unknown) => Promise<Answer>
  temporalAddress: string
  /** Waits until the node is ready, and starts it where it does not run, as a service manager does.
   *  @returns whether it did not run */
  start(): Promise<boolean>
  /** The graceful stop. @returns milliseconds that it took */
  stop(): Promise<number>
  /** Ends the node without any warning, and waits until it is gone. */
  kill(): Promise<void>
  /** Signals the node, or the Temporal server beside it. */
  signal(signal: NodeJS.Signals): void
  signalTemporal(signal: NodeJS.Signals): Promise<void>
  ready(): Promise<boolean>
  /** What the node has logged, over all of its starts. */
  log(): Promise<string>
  /** Ends the node and its Temporal server, in whatever state they are. */
  end(): Promise<void>
}

/** A node that finds everything slow: its start may come after a long outage. */
const readyLimitMs = 120_000

export async function createInstallation(options: InstallationOptions): Promise<Installation> {
  const { dataDir, postgres, environment } = options
  const [port = 0, temporalPort = 0, uiPort = 0] = await findFreePorts('127.0.0.1', 3)
  const url = `http://127.0.0.1:${port}`
  // Beside the folder, which may be full.
  const logFile = `${dataDir}.log`
  let node: TetheredProcess | undefined

  const launch = (): Promise<TetheredProcess> =>
    spawnTethered(process.execPath, [...commandInTest, 'start'], {
      logFile,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        PORT: String(port),
        POSTRIDER_TEMPORAL_PORT: String(temporalPort),
        POSTRIDER_TEMPORAL_UI_PORT: String(uiPort),
        POSTRIDER_DATA_DIR: dataDir,
        POSTRIDER_ADMIN_TOKEN: adminToken,
        POSTRIDER_QUICKSTART_PORT: '0',
        ...(postgres !== undefined && { DATABASE_URL: postgres.url }),
        LOG_LEVEL: 'warn',
        ...retries,
        ...environment,
      },
    })

  const ready = (): Promise<boolean> =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    )

  const log = (): Promise<string> => readFile(logFile, 'utf8')

  const signalTemporal = async (name: NodeJS.Signals): Promise<void> => {
    const note = await readNote(dataDir)
    if (note !== undefined && isRunning(note)) process.kill(note.pid, name)
  }

  const signal = (name: NodeJS.Signals): void => {
    if (node?.isRunning()) process.kill(node.pid, name)
  }

  return {
    url,
    async api<Answer>(path: string, body?: unknown) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as Answer
    },
    temporalAddress: `127.0.0.1:${temporalPort}`,
    async start() {
      const wasGone = !node?.isRunning()
      await until(
        'the node is ready',
        async () => {
          if (!node?.isRunning()) {
            await node?.stop()
            node = await launch()
          }
          return ready()
        },
        readyLimitMs,
      )
      return wasGone
    },
    async stop() {
      const begun = performance.now()
      signal('SIGTERM')
      await node?.exited
      return performance.now() - begun
    },
    async kill() {
      signal('SIGKILL')
      await node?.exited
    },
    signal,
    signalTemporal,
    ready,
    log,
    async end() {
      signal('SIGCONT')
      await signalTemporal('SIGCONT')
      await node?.stop()
      await endOrphan(dataDir)
      await rm(logFile, { force: true })
    },
  }
}

const adminToken = 'chaos-admin-token'

/** Quick retries: the faults of a run are short. */
const retries = {
  POSTRIDER_RETRY_INITIAL: '1s',
  POSTRIDER_RETRY_MAX: '5s',
  POSTRIDER_RETRY_WINDOW: '1h',
}
