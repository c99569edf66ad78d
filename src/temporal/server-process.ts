/** The process of the embedded Temporal server: its command line, its log, and its note in the data folder. */

import { spawn } from 'node:child_process'
import { closeSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { copyFile, readFile, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { StartError } from '../errors.ts'
import { isRunning, processRef } from '../process-identity.ts'
import type { ProcessRef } from '../process-identity.ts'
import { guardServer } from './server-guard.ts'

export const serverHost = '127.0.0.1'
export const databaseFile = 'temporal.db'
const logFile = 'temporal.log'
const noteFile = 'temporal.json'
const maxLogBytes = 10_000_000
const adoptedPollMs = 500

/** What makes two runs of the server the same for their user. */
export interface ServerSettings {
  /** Path of the `temporal` command. */
  cli: string
  dataDir: string
  port: number
  uiPort: number
  /** Between the end of this process, when it does not end the server, and that of the server; half a minute when absent. */
  graceSeconds?: number
}

export interface ServerProcess {
  ref: ProcessRef
  /** Resolves when the process is gone, for whatever reason. */
  exited: Promise<void>
  /** Whether a signal ended it; false as long as it runs, and for one that another instance started. */
  wasKilled(): boolean
}

const NoteSchema = z.object({
  pid: z.int().positive(),
  identity: z.string(),
  port: z.int().positive(),
  uiPort: z.int().positive(),
  cli: z.string(),
  args: z.array(z.string()),
  /** The token of its guard; 0.1.0 had none. */
  guard: z.string().optional(),
})
export type ServerNote = z.infer<typeof NoteSchema>

/** Values that fit one node with one SQLite file better than the server's own. */
const dynamicConfig = {
  // Fairness keys: an endpoint with a long queue must not hold up the others.
  'matching.enableFairness': 'true',
  // How often a second started and ended workflows are written to the tables of lists: mostly a delivery is over by then, and
  // has one record instead of two. Lists lag by up to 0.2 s; an event arrives a sixth sooner.
  'history.visibilityProcessorMaxPollRPS': '5',
  // Calls per second; the command's own 100 are a second of one who turns pages quickly.
  'frontend.namespaceRPS.visibility': '1000',
  // The names of search attributes are kept in memory. The command reads them anew at each use, which is 7 of the 12 reads and writes of
  // its database that a delivery takes.
  'system.forceSearchAttributesCacheRefreshOnRead': 'false',
}

/** Arguments of `temporal` for these settings; file names are relative to the data folder. */
export function serverArgs({ port, uiPort }: Pick<ServerSettings, 'port' | 'uiPort'>): string[] {
  return [
    ['server', 'start-dev', '--ip', serverHost, '--port', String(port), '--ui-port', String(uiPort)],
    // A relative name: the server puts it into a URI, where a folder's `?` or `%` would have a meaning.
    ['--db-filename', databaseFile, '--log-level', 'warn'],
    // A log that is written ahead, and synced at each commit: what Temporal took survives a power cut. 35 events/s without the log,
    // 75 to 88 with it; the syncs take 4 to 8 % of that.
    ['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=FULL'],
    Object.entries(dynamicConfig).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
  ].flat()
}

/**
 * Starts the server in a session of its own, so that a Ctrl-C meant for this program does not reach it, and notes it in
 * the data folder at once, so that a hard kill of this program leaves no server that nobody knows.
 */
export function spawnServer(settings: ServerSettings): ServerProcess {
  const { cli, dataDir, port, uiPort } = settings
  const args = serverArgs(settings)
  const log = openSync(join(dataDir, logFile), 'a', 0o600)
  // Events hold personal data: files that the server creates are for their owner alone.
  const umask = process.umask(0o077)
  try {
    const child = spawn(cli, args, { cwd: dataDir, env: serverEnv(), detached: true, stdio: ['ignore', log, log] })
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', () => resolve())
    })
    const ref = child.pid === undefined ? undefined : processRef(child.pid)
    if (ref === undefined) throw new StartError(`The Temporal server ${cli} cannot be run`)
    try {
      noteGuarded({ ...ref, port, uiPort, cli, args }, exited, settings)
    } catch (error) {
      // As on a full disk: nobody would know of it.
      child.kill('SIGKILL')
      throw error
    }
    return { ref, exited, wasKilled: () => child.signalCode !== null }
  } finally {
    process.umask(umask)
    closeSync(log)
  }
}

/** A server that an earlier instance of this program left running, and its guard has let go. */
export function adoptServer(note: ServerNote, settings: ServerSettings): ServerProcess {
  const ref = { pid: note.pid, identity: note.identity }
  const exited = untilGone(ref)
  noteGuarded(note, exited, settings)
  return { ref, exited, wasKilled: () => false }
}

async function untilGone(ref: ProcessRef): Promise<void> {
  while (isRunning(ref)) await sleep(adoptedPollMs)
}

/** Notes a server together with its guard. */
function noteGuarded(note: ServerNote, exited: Promise<void>, { dataDir, graceSeconds }: ServerSettings): void {
  const guard = guardServer(note.pid, dataDir, graceSeconds)
  void exited.then(() => guard.end())
  writeNote(dataDir, { ...note, guard: guard.token })
}

/** The note of the server last started in this folder, running or not; undefined when there is none to be read. */
export async function readNote(dataDir: string): Promise<ServerNote | undefined> {
  try {
    return NoteSchema.parse(JSON.parse(await readFile(join(dataDir, noteFile), 'utf8')))
  } catch {
    return undefined
  }
}

export async function removeNote(dataDir: string): Promise<void> {
  await rm(join(dataDir, noteFile), { force: true })
}

/** Keeps the server's log within 10 MB, and the 10 MB before that beside it. */
export async function boundLog(dataDir: string): Promise<void> {
  const path = join(dataDir, logFile)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size <= maxLogBytes) return
  // The server keeps the file open for appending, so it is emptied in place.
  await copyFile(path, `${path}.1`)
  await truncate(path)
}

/** What the server wrote into its log last, in one line of bounded length. */
export async function lastLogMessage(dataDir: string): Promise<string> {
  const text = await readFile(join(dataDir, logFile), 'utf8').catch(() => '')
  const line = text.trimEnd().split('\n').at(-1) ?? ''
  const [, message = line] = /msg="((?:[^"\\]|\\.)*)"/.exec(line) ?? []
  return message.replaceAll('\\"', '"').slice(0, 300)
}

/** Written at once and whole: between the start of a server and its note nothing else may happen. */
function writeNote(dataDir: string, note: ServerNote): void {
  const path = join(dataDir, noteFile)
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** The operator's TEMPORAL_* settings are about other Temporal servers. */
function serverEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_')))
}
