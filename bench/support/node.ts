/** A node in a process of its own, with its embedded Temporal, as a user starts it. */

import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../../src/ports.ts'
import { endOrphan } from '../../src/temporal/embedded-server.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { builtCommand } from '../../test/support/built-command.ts'
import { isComplete } from '../../test/support/readiness.ts'

export interface BenchNode {
  url: string
  temporalAddress: string
  process: ChildProcess
  api<Answer>(method: string, path: string, body?: unknown): Promise<Answer>
  /** Resident memory of the node's process, in MB; the Temporal server beside it is not in it. */
  memoryMb(): Promise<number>
  temporalPid(): Promise<number>
  /** Suspends the Temporal server, and lets it go on. */
  stopTemporal(): Promise<void>
  continueTemporal(): Promise<void>
  /** Ends the node and its server without any warning; the data folder stays. */
  kill(): Promise<void>
  stop(): Promise<void>
}

export const adminToken = 'bench-admin-token'
const readyLimitMs = 600_000

/** What `npm start` gives Node.js. */
const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
  scripts: { start: string }
}
const nodeOptions = manifest.scripts.start.split(' ').filter((word) => word.startsWith('--'))

/** @param environment  settings beside these; `PORT` is a free one unless given
 *  @param keptDataDir  stays when the node ends, so that the next one finds what this one left; a fresh one unless given
 *  @param program  of another build, instead of this one's */
export async function startNode(
  environment: Record<string, string> = {},
  keptDataDir?: string,
  program = builtCommand,
): Promise<BenchNode> {
  const dataDir = keptDataDir ?? (await mkdtemp(join(tmpdir(), 'postrider-bench-')))
  const [freePort = 0, temporalPort = 0, uiPort = 0] = await findFreePorts('127.0.0.1', 3)
  const port = environment['PORT'] ?? String(freePort)
  const child = spawn(process.execPath, [...nodeOptions, program, 'start', '--json'], {
    env: {
      ...process.env,
      PORT: port,
      POSTRIDER_TEMPORAL_PORT: String(temporalPort),
      POSTRIDER_TEMPORAL_UI_PORT: String(uiPort),
      POSTRIDER_DATA_DIR: dataDir,
      POSTRIDER_ADMIN_TOKEN: adminToken,
      POSTRIDER_QUICKSTART_PORT: '0',
      LOG_LEVEL: 'error',
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  await ready(url, child)
  const temporalPid = async (): Promise<number> => {
    const note = await readNote(dataDir)
    if (note === undefined) throw new Error('no Temporal server is noted')
    return note.pid
  }
  const signalTemporal = async (signal: NodeJS.Signals): Promise<void> => {
    process.kill(await temporalPid(), signal)
  }
  return {
    url,
    temporalAddress: `127.0.0.1:${temporalPort}`,
    process: child,
    temporalPid,
    async api(method, path, body) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as never
    },
    async memoryMb() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
    },
    stopTemporal: () => signalTemporal('SIGSTOP'),
    continueTemporal: () => signalTemporal('SIGCONT'),
    async kill() {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await signalTemporal('SIGKILL')
      await exited
    },
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
      // With much under way the node's time to stop may not suffice for its server.
      await endOrphan(dataDir)
      if (keptDataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function ready(url: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + readyLimitMs
  while (performance.now() < deadline && child.exitCode === null) {
    if (await isComplete(url)) return
    await sleep(100)
  }
  throw new Error('the node did not become ready')
}
