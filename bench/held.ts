/** What held deliveries cost while nothing happens: processor time of a node with everything embedded, and of its Temporal
 *  server. `npm run bench:held`; with a number, so many deliveries. Linux only. */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { workflowCode } from '../src/temporal/workflow-code.ts'

const deliveries = Number(process.argv[2] ?? 5_000)
const batchSize = 100
const holdLimitMs = 180_000
const calmDownMs = 30_000
const windowMs = 60_000
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Processor time of a process so far, in seconds. */
const cpuSeconds = (pid: number): number => {
  const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/\(.*\)/s, 'name')
    .split(' ')
  // Its state, the third field, is the first of these; `utime` and `stime` are the 14th and 15th.
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

const childPid = (command: string): number => {
  const found = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .find((match) => Number(match?.[2]) === process.pid && match?.[3]?.includes(command))
  if (found?.[1] === undefined) throw new Error(`no child runs ${command}`)
  return Number(found[1])
}

const dataDir = await mkdtemp(join(tmpdir(), 'postrider-held-'))
const environment = {
  ...process.env,
  PORT: '0',
  POSTRIDER_DATA_DIR: join(dataDir, 'data'),
  POSTRIDER_TEMPORAL_PORT: '0',
  POSTRIDER_TEMPORAL_UI_PORT: '0',
  POSTRIDER_QUICKSTART_PORT: '0',
}
const app = await startApp(readConfig(environment), {
  logger: pino({ level: 'error' }),
  environment,
  onProgress: () => {},
  onReceived: () => {},
  signal: new AbortController().signal,
  workflowCode: workflowCode(),
})

const call = async <Body>(method: string, path: string, authorization: string, body: unknown): Promise<Body> => {
  const response = await fetch(`${app.url}${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Body
}

try {
  const admin = `Bearer ${app.adminToken}`
  const source = await call<{ id: string; writeKey: string }>('POST', '/api/v1/sources', admin, { name: 'Held' })
  const { id } = await call<{ id: string }>('POST', '/api/v1/destinations', admin, {
    name: 'Held',
    type: 'webhooks',
    sourceIds: [source.id],
    settings: { webhooks: [{ url: 'http://127.0.0.1:9/' }] },
  })
  await call('PATCH', `/api/v1/destinations/${id}`, admin, { paused: true })
  const key = `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}`
  const begun = performance.now()
  for (let sent = 0; sent < deliveries; sent += batchSize) {
    const batch = Array.from({ length: batchSize }, (_, index) => ({
      type: 'track',
      userId: 'u1',
      event: 'Held',
      messageId: `held-${sent + index}`,
    }))
    await call('POST', '/v1/batch', key, { batch })
  }
  const held = async (): Promise<number> =>
    (await app.temporal.client.workflow.count("PostriderOutcome = 'held' AND ExecutionStatus = 'Running'")).count
  while ((await held()) < deliveries && performance.now() - begun < holdLimitMs) await sleep(1_000)
  console.log(`${await held()} held after ${Math.round((performance.now() - begun) / 1_000)} s`)
  await sleep(calmDownMs)
  const pids = { node: process.pid, Temporal: childPid('server start-dev') }
  const before = Object.entries(pids).map(([name, pid]) => ({ name, pid, cpu: cpuSeconds(pid) }))
  const from = performance.now()
  await sleep(windowMs)
  const seconds = (performance.now() - from) / 1_000
  for (const { name, pid, cpu } of before) {
    const used = cpuSeconds(pid) - cpu
    console.log(
      `${name}: ${used.toFixed(1)} s in ${seconds.toFixed(0)} s, ${((100 * used) / seconds).toFixed(1)}% of a core`,
    )
  }
} finally {
  await app.stop()
  await rm(dataDir, { recursive: true, force: true })
}
process.exit(0)
