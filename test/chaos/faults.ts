/** The faults of a chaos run: each breaks a part, leaves it so for a while, and mends it. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosEndpoint } from './endpoint.ts'
import type { FullFolder } from './full-folder.ts'
import type { Installation } from './installation.ts'
import type { ChaosPostgres } from './postgres.ts'
import type { Random } from '../support/random.ts'

/** What there is to break. */
export interface Scene {
  installation: Installation
  endpoint: ChaosEndpoint
  postgres: ChaosPostgres | undefined
  folder: FullFolder | undefined
  random: Random
}

export interface Fault {
  /** Why it cannot be made here; absent: it can. */
  missing?(scene: Pick<Scene, 'postgres' | 'folder'>): string | undefined
  /** The node has no time to report what it has under way. */
  killsNode?: true
  /** Breaks, waits and mends. @returns what was done, in a few words */
  strike(scene: Scene): Promise<string>
}

const noPostgres: Fault['missing'] = ({ postgres }) =>
  postgres === undefined ? 'the run uses the embedded database' : undefined

const noFullFolder: Fault['missing'] = ({ folder }) =>
  folder === undefined ? 'only root may mount a small file system for the data folder' : undefined

/** @param breakIt  with what mends it again, after `lowMs` to `highMs` */
const lasting =
  (
    lowMs: number,
    highMs: number,
    breakIt: (scene: Scene) => unknown,
    mend: (scene: Scene) => unknown,
  ): Fault['strike'] =>
  async (scene) => {
    const ms = scene.random.between(lowMs, highMs)
    await breakIt(scene)
    await sleep(ms)
    await mend(scene)
    return `for ${(ms / 1_000).toFixed(1)} s`
  }

/** By their names, in the order in which a run takes its first ones. */
export const faults: Record<string, Fault> = {
  'node killed': {
    killsNode: true,
    strike: lasting(
      0,
      4_000,
      ({ installation }) => installation.kill(),
      ({ installation }) => installation.start(),
    ),
  },
  'node stopped gracefully': {
    async strike({ installation }) {
      const ms = await installation.stop()
      await installation.start()
      return `which took ${(ms / 1_000).toFixed(1)} s`
    },
  },
  'Temporal killed': {
    strike: async ({ installation }) => {
      await installation.signalTemporal('SIGKILL')
      return 'its supervisor starts it again'
    },
  },
  'Temporal frozen': {
    strike: lasting(
      1_000,
      15_000,
      ({ installation }) => installation.signalTemporal('SIGSTOP'),
      ({ installation }) => installation.signalTemporal('SIGCONT'),
    ),
  },
  'node frozen': {
    strike: lasting(
      1_000,
      15_000,
      ({ installation }) => installation.signal('SIGSTOP'),
      ({ installation }) => installation.signal('SIGCONT'),
    ),
  },
  'node and Temporal killed': {
    killsNode: true,
    strike: lasting(
      0,
      4_000,
      ({ installation }) => Promise.all([installation.signalTemporal('SIGKILL'), installation.kill()]),
      ({ installation }) => installation.start(),
    ),
  },
  'endpoint answers 503': {
    strike: lasting(
      2_000,
      15_000,
      ({ endpoint }) => endpoint.be('failing'),
      ({ endpoint }) => endpoint.be('well'),
    ),
  },
  'endpoint hangs': {
    strike: lasting(
      2_000,
      15_000,
      ({ endpoint }) => endpoint.be('hanging'),
      ({ endpoint }) => endpoint.be('well'),
    ),
  },
  'endpoint closed': {
    strike: lasting(
      2_000,
      15_000,
      ({ endpoint }) => endpoint.close(),
      ({ endpoint }) => endpoint.open(),
    ),
  },
  'PostgreSQL stopped': {
    missing: noPostgres,
    strike: lasting(
      500,
      8_000,
      ({ postgres }) => postgres?.halt(),
      ({ postgres }) => postgres?.resume(),
    ),
  },
  'PostgreSQL frozen': {
    missing: noPostgres,
    strike: lasting(
      1_000,
      15_000,
      ({ postgres }) => postgres?.freeze(),
      ({ postgres }) => postgres?.thaw(),
    ),
  },
  'PostgreSQL backend killed': {
    missing: noPostgres,
    async strike({ postgres }) {
      return (await postgres?.killBackend()) ? '' : 'but there was none'
    },
  },
  'data folder full': {
    missing: noFullFolder,
    strike: lasting(
      1_000,
      8_000,
      ({ folder }) => folder?.fill(),
      ({ folder }) => folder?.empty(),
    ),
  },
}
