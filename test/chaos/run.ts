/** One chaos run: a steady load, faults one after the other, and the account at the end. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { createCleanUps, type CleanUps } from '../../src/clean-ups.ts'
import type { Source } from '../../src/schemas/source.ts'
import { takeAccount, type Account } from './account.ts'
import { startChaosEndpoint, type ChaosEndpoint } from './endpoint.ts'
import { faults, type Scene } from './faults.ts'
import { mountSmallFolder } from './full-folder.ts'
import { createInstallation } from './installation.ts'
import { startLoad, type Load } from './load.ts'
import { startChaosPostgres } from './postgres.ts'
import { createRandom, type Random } from '../support/random.ts'

export interface ChaosOptions {
  /** Decides which faults come when, and how long each lasts. */
  seed: number
  seconds: number
  eventsPerSecond: number
  /** How many faults, spread over the time evenly. */
  faultCount: number
  /** Names of the kinds to choose from; all that can be made unless given. */
  kinds?: readonly string[]
  database: 'embedded' | 'postgres'
  /** A folder for the node's data; one of its own unless given. */
  dataDir?: string
  /** How long to wait at the end for what has not arrived, in seconds. */
  settleSeconds: number
  /** Of the node, beside those of the run. */
  environment?: Record<string, string>
  report: (line: string) => void
  /** Called when the account is taken, before anything is ended. */
  inspect?: (scene: Scene, result: ChaosResult) => Promise<void>
  /** Ends the run early; what it started is ended all the same. */
  signal: AbortSignal
}

export interface StruckFault {
  name: string
  /** Moments of `performance.now`. */
  begunAt: number
  endedAt: number
}

export interface ChaosResult extends Account {
  faults: StruckFault[]
  /** From the end of the load and the last fault until all had arrived; undefined when they did not in time. */
  settledAfterMs: number | undefined
  /** Every delivery beyond the first of an id. */
  repeated: RepeatedDelivery[]
  /** Those that are not of what a killed node had under way. */
  unexplained: RepeatedDelivery[]
}

/** Moments of the first delivery, and of this one. */
export interface RepeatedDelivery {
  messageId: string
  firstAt: number
  at: number
}

/** How long a node may have something under way: the time limit of a task at Temporal, 10 s, and the longest fault that keeps
 *  Temporal from taking a report. */
const reportLimitMs = 25_000

/** Room for the databases of a run. */
const folderMegabytes = 2_000

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, report } = options
  const random = createRandom(seed)
  const cleanUps = createCleanUps(pino({ level: 'error' }))
  try {
    const scene = await setScene(options, random, cleanUps)
    const kinds = possibleKinds(options, scene)
    report(`seed ${seed}: ${options.seconds} s, ${options.eventsPerSecond} events/s, ${options.faultCount} faults`)
    const load = await beginLoad(options, scene)
    cleanUps.add(() => load.stop())
    const struck = await strikeAll(options, scene, kinds)
    await load.stop()
    const settledAfterMs = await settle(load, scene.endpoint, options)
    const account = await takeAccount(load, scene.endpoint, scene.installation)
    const repeated = repeatedDeliveries(scene.endpoint)
    const unexplained = repeated.filter((delivery) => !struck.some((fault) => explains(fault, delivery)))
    const result = { ...account, faults: struck, settledAfterMs, repeated, unexplained }
    await options.inspect?.(scene, result)
    return result
  } finally {
    await cleanUps.run()
  }
}

async function setScene(options: ChaosOptions, random: Random, cleanUps: CleanUps): Promise<Scene> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'postrider-chaos-')))
  cleanUps.add(() => rm(dataDir, { recursive: true, force: true }))
  const isToBeFull = options.kinds === undefined || options.kinds.includes('data folder full')
  const folder = isToBeFull ? await mountSmallFolder(dataDir, folderMegabytes) : undefined
  if (folder !== undefined) cleanUps.add(() => folder.unmount())
  const postgres = options.database === 'postgres' ? await startChaosPostgres() : undefined
  if (postgres !== undefined) cleanUps.add(() => postgres.stop())
  const endpoint = await startChaosEndpoint()
  cleanUps.add(() => endpoint.close())
  const installation = await createInstallation({ dataDir, postgres, environment: options.environment ?? {} })
  cleanUps.add(() => installation.end())
  await installation.start()
  return { installation, endpoint, postgres, folder, random }
}

/** Names the kinds that are left out. */
function possibleKinds({ kinds = Object.keys(faults), report }: ChaosOptions, scene: Scene): string[] {
  return kinds.filter((name) => {
    const fault = faults[name]
    if (fault === undefined)
      throw new Error(`there is no fault "${name}"; there are: ${Object.keys(faults).join(', ')}`)
    const missing = fault.missing?.(scene)
    if (missing !== undefined) report(`left out: ${name} (${missing})`)
    return missing === undefined
  })
}

async function beginLoad({ eventsPerSecond }: ChaosOptions, { installation, endpoint }: Scene): Promise<Load> {
  const { api, url } = installation
  const sources = await Promise.all(['Singles', 'Batches'].map((name) => api<Source>('/sources', { name })))
  await api('/destinations', {
    name: 'Chaos',
    type: 'webhooks',
    sourceIds: sources.map(({ id }) => id),
    settings: { webhooks: [{ url: endpoint.url }] },
  })
  return startLoad({ url, sources, eventsPerSecond })
}

/** Each kind once, then any. */
function* namesInTurn(kinds: readonly string[], random: Random): Generator<string, never> {
  const left = [...kinds]
  while (left.length > 0) yield* left.splice(Math.floor(random.next() * left.length), 1)
  for (;;) yield random.pick(kinds)
}

async function strikeAll(options: ChaosOptions, scene: Scene, kinds: string[]): Promise<StruckFault[]> {
  const { seconds, faultCount, report, signal } = options
  const begun = performance.now()
  const names = namesInTurn(kinds, scene.random)
  const struck: StruckFault[] = []
  const waitUntil = (moment: number) => sleep(Math.max(0, moment - performance.now()), undefined, { signal })
  for (let place = 0; place < faultCount; place++) {
    const name = names.next().value
    const fault = faults[name]
    await waitUntil(begun + ((place + scene.random.between(0.1, 0.9)) * seconds * 1_000) / faultCount)
    const begunAt = performance.now()
    const what = (await fault?.strike(scene)) ?? ''
    const hadEnded = await scene.installation.start()
    struck.push({ name, begunAt, endedAt: performance.now() })
    report(
      `${((begunAt - begun) / 1_000).toFixed(0)} s: ${name} ${what}${hadEnded ? ', and the node ended by itself' : ''}`,
    )
  }
  await waitUntil(begun + seconds * 1_000)
  return struck
}

async function settle(
  { acknowledged }: Load,
  { taken }: ChaosEndpoint,
  { settleSeconds, signal }: ChaosOptions,
): Promise<number | undefined> {
  const begun = performance.now()
  for (const messageId of acknowledged.keys())
    while (!taken.has(messageId)) {
      if (performance.now() - begun > settleSeconds * 1_000) return undefined
      await sleep(100, undefined, { signal })
    }
  return performance.now() - begun
}

/** What a node had under way when it was killed is delivered again: nobody knows whether it was. The endpoint may read a
 *  request after the death of its sender. */
const explains = ({ name, begunAt, endedAt }: StruckFault, { firstAt, at }: RepeatedDelivery): boolean =>
  faults[name]?.killsNode === true && begunAt - reportLimitMs < firstAt && firstAt < endedAt && begunAt < at

function repeatedDeliveries({ taken }: ChaosEndpoint): RepeatedDelivery[] {
  return [...taken].flatMap(([messageId, [firstAt = 0, ...later]]) => later.map((at) => ({ messageId, firstAt, at })))
}
