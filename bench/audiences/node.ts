/** The built node as a process of its own, its memory watched. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../../src/ports.ts'
import { builtCommand } from '../../test/support/built-command.ts'
import { isComplete } from '../../test/support/readiness.ts'

const token = 'bench-admin-token'
const startLimitMs = 120_000
const memoryPauseMs = 200
/** A node has calmed down some seconds after its start. */
const calmDownMs = 5_000

export interface BenchNode {
  url: string
  memory: { idleMb: number; peakMb: number }
  api<Answer>(method: string, path: string, body?: unknown): Promise<Answer>
  upload(path: string, body: ReadableStream<Uint8Array>): Promise<{ syncId: string }>
  stop(): Promise<void>
}

export async function startBenchNode(dataDir: string): Promise<BenchNode> {
  const [port, temporalPort, uiPort] = await findFreePorts('127.0.0.1', 3)
  const child = spawn(process.execPath, [builtCommand, 'start', '--json'], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PORT: String(port),
      POSTRIDER_DATA_DIR: dataDir,
      POSTRIDER_TEMPORAL_PORT: String(temporalPort),
      POSTRIDER_TEMPORAL_UI_PORT: String(uiPort),
      POSTRIDER_ADMIN_TOKEN: token,
      POSTRIDER_QUICKSTART_PORT: '0',
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  const deadline = Date.now() + startLimitMs
  while (!(await isComplete(url))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error('the node did not start')
    await sleep(100)
  }
  await sleep(calmDownMs)
  const idleMb = await residentMb(child.pid)
  const memory = { idleMb, peakMb: idleMb }
  const timer = setInterval(() => {
    void residentMb(child.pid).then((mb) => (memory.peakMb = Math.max(memory.peakMb, mb)))
  }, memoryPauseMs)

  const call = async <Answer>(method: string, path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      ...init,
      method,
      headers: { authorization: `Bearer ${token}`, ...init.headers },
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }
  return {
    url,
    memory,
    api: (method, path, body) =>
      call(
        method,
        path,
        body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
      ),
    upload: (path, body) =>
      call('PUT', path, { body, duplex: 'half', headers: { 'content-type': 'application/x-ndjson' } }),
    async stop() {
      clearInterval(timer)
      const closed = once(child, 'close')
      child.kill('SIGTERM')
      await closed
    },
  }
}

async function residentMb(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024
}
