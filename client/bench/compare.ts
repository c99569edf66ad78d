/**
 * This library beside @segment/analytics-node: 100,000 track calls each, in turns, on the same endpoint, every run in a
 * new process. Calls per second count until the last one is delivered. `burst` makes all calls at one go, `steady` lets
 * the program do other things after each 100. Exits with 1 when a target is missed.
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

const ROUNDS = 3
const CALLS = 100_000
const run = promisify(execFile)
const file = (name: string) => resolve(import.meta.dirname, name)

interface Result {
  callsPerSecond: number
  callMicroseconds: number
  peakMegabytes: number
  delivered: number
}

const server = spawn(process.execPath, ['--import', 'tsx', file('server.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
const [port] = (await once(server.stdout, 'data')) as [Buffer]
const endpoint = `http://127.0.0.1:${port.toString().trim()}`

async function measure(library: string, pace: string): Promise<Result> {
  const { stdout } = await run(process.execPath, [file('calls.js'), library, pace, endpoint])
  const { distinct } = (await (await fetch(endpoint)).json()) as { distinct: number }
  return { ...(JSON.parse(stdout) as Omit<Result, 'delivered'>), delivered: distinct }
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const medians = (results: Result[]): Result => ({
  callsPerSecond: median(results.map((result) => result.callsPerSecond)),
  callMicroseconds: median(results.map((result) => result.callMicroseconds)),
  peakMegabytes: median(results.map((result) => result.peakMegabytes)),
  delivered: Math.min(...results.map((result) => result.delivered)),
})

let met = true
for (const pace of ['burst', 'steady']) {
  const ours: Result[] = []
  const theirs: Result[] = []
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push(await measure('segment', pace))
    ours.push(await measure('postrider', pace))
  }
  const [our, their] = [medians(ours), medians(theirs)]
  const speed = our.callsPerSecond / their.callsPerSecond
  const memory = our.peakMegabytes / their.peakMegabytes
  console.log(`${pace}, median of ${ROUNDS} (delivered: the least)`)
  console.table({ '@postrider/analytics': our, '@segment/analytics-node': their })
  console.log(`calls per second x ${speed.toFixed(1)} (target 2), peak memory x ${memory.toFixed(2)} (target 0.5)\n`)
  met &&= speed >= 2 && memory <= 0.5 && our.delivered === CALLS
}
server.kill()
process.exitCode = met ? 0 : 1
