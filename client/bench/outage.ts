/**
 * 20,000 track calls over 100 s; in the middle the server is away for 60 s. Exits with 1 unless all of them arrive, each
 * once after removal of repeats by messageId, and none is reported as lost.
 */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Analytics } from '@postrider/analytics'

const CALLS = 20_000
const CALLS_PER_SECOND = 200
const AWAY_FROM = 4_000
const AWAY_SECONDS = 60

async function startServer(port: string): Promise<{ process: ChildProcess; port: string }> {
  const args = ['--import', 'tsx', resolve(import.meta.dirname, 'server.ts'), port]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed] = (await once(child.stdout, 'data')) as [Buffer]
  return { process: child, port: printed.toString().trim() }
}

const counts = async (url: string) => (await (await fetch(url)).json()) as { received: number; distinct: number }

const before = await startServer('0')
const endpoint = `http://127.0.0.1:${before.port}`
let lost = 0
const analytics = new Analytics('key', { endpoint, onError: (error) => (lost += error.messages.length) })
let arrivedBefore = 0
let after: typeof before | undefined

for (let i = 0; i < CALLS; i++) {
  analytics.track({ userId: `user-${i % 1_000}`, event: 'Order Completed', messageId: `message-${i}` })
  if (i % 10 === 0) await sleep(10_000 / CALLS_PER_SECOND)
  if (i === AWAY_FROM) {
    await analytics.flush()
    arrivedBefore = (await counts(endpoint)).distinct
    before.process.kill('SIGKILL')
    console.log(`server killed after ${arrivedBefore} messages`)
  }
  if (i === AWAY_FROM + AWAY_SECONDS * CALLS_PER_SECOND) {
    console.log(`server back, ${analytics.stats.pending} wait`)
    after = await startServer(before.port)
  }
}
await analytics.close({ timeoutMs: 60_000 })
const { received, distinct } = await counts(endpoint)
after?.process.kill()
console.log({ calls: CALLS, arrived: arrivedBefore + distinct, repeats: received - distinct, lost })
process.exitCode = arrivedBefore + distinct === CALLS && lost === 0 ? 0 : 1
