/** A node in a process of its own, on the Temporal server of the test run: one that a test can kill hard. */

import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePorts } from '../../src/ports.ts'
import { apiOf, testEnvironment, type TestApp } from './app.ts'
import { commandInTest } from './built-command.ts'
import { isComplete } from './readiness.ts'
import { spawnTethered, type TetheredProcess } from './tethered-process.ts'
import { until } from './wait.ts'

const readyLimitMs = 60_000

export interface NodeProcessOptions {
  namespace: string
  /** Kept when the node ends, so that the next one finds what this one left. */
  dataDir: string
  /** Settings beside those of `testEnvironment`. */
  environment?: Record<string, string>
}

export interface NodeProcess
  extends
    Pick<TetheredProcess, 'pid' | 'exited' | 'stop'>,
    Pick<TestApp, 'url' | 'api' | 'post' | 'createSource' | 'connect'> {
  /** Ends it without any warning, and waits until it is gone. */
  kill(): Promise<void>
  /** What it has printed and logged. */
  output(): Promise<string>
}

/** Starts `postrider start` from the build and waits until it delivers. Whoever starts it in a test stops it with
 *  `onTestFinished`: a test that times out does not come to its own end.
 *  @throws Error with its output when it ends before, or takes more than a minute */
export async function startNodeProcess({ namespace, dataDir, environment }: NodeProcessOptions): Promise<NodeProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-log-'))
  const logFile = join(folder, 'log')
  const [freePort] = await findFreePorts('127.0.0.1', 1)
  const port = environment?.['PORT'] ?? String(freePort)
  const node = await spawnTethered(process.execPath, [...commandInTest, 'start'], {
    logFile,
    removeAfterwards: folder,
    env: {
      PATH: process.env['PATH'],
      ...testEnvironment(namespace, dataDir),
      PORT: port,
      LOG_LEVEL: 'warn',
      ...environment,
    },
  })
  const url = `http://127.0.0.1:${port}`
  const output = (): Promise<string> => readFile(logFile, 'utf8')
  const isReady = async (): Promise<boolean> => {
    if (!node.isRunning()) throw new Error(`the node ended: ${await output()}`)
    return isComplete(url)
  }
  try {
    await until('the node is ready', isReady, readyLimitMs)
  } catch (error) {
    await node.stop()
    throw error
  }
  return {
    ...apiOf(url),
    pid: node.pid,
    exited: node.exited,
    stop: () => node.stop(),
    async kill() {
      process.kill(node.pid, 'SIGKILL')
      await node.exited
    },
    output,
  }
}
