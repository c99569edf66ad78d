/** Brings a process of the embedded server up until it is ready, and down again. */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../errors.ts'
import { beginMaking, finishMaking } from '../half-made.ts'
import { isPortFree } from '../ports.ts'
import { endProcess, isRunning } from '../process-identity.ts'
import { isServing } from './server-health.ts'
import { boundLog, databaseFile, lastLogMessage, removeNote, serverHost, spawnServer } from './server-process.ts'
import type { ServerProcess, ServerSettings } from './server-process.ts'

/** The namespace that the server makes by itself. */
export const embeddedNamespace = 'default'

/** A loaded machine may take long; an idle one takes a second. */
const readyTimeoutMs = 120_000
const readyPollMs = 50
const checkTimeoutMs = 2_000
const progressMs = 5_000
/** It takes about a second; it then closes the database. */
const stopGraceMs = 15_000

/** Starts of a server that is killed each time before it is ready, as by whoever frees memory. */
const maxStarts = 3

/** Starts a server process and resolves when it is ready; whatever prevents that, no process is left.
 *  @throws StartError when a port is in use or the server does not come up */
export async function launchServer(
  settings: ServerSettings,
  signal: AbortSignal,
  onProgress: (line: string) => void,
): Promise<ServerProcess> {
  for (let starts = 1; ; starts++) {
    try {
      return await launchOnce(settings, signal, onProgress)
    } catch (error) {
      if (!(error instanceof KilledAtStart) || starts === maxStarts) throw error
      onProgress('The Temporal server was killed at its start; starting it again')
    }
  }
}

class KilledAtStart extends StartError {}

async function launchOnce(
  settings: ServerSettings,
  signal: AbortSignal,
  onProgress: (line: string) => void,
): Promise<ServerProcess> {
  const { dataDir } = settings
  signal.throwIfAborted()
  await requireFreePorts(settings)
  // The server makes its tables only when there is no database file: one that died meanwhile could never start again.
  const database = join(dataDir, databaseFile)
  await beginMaking(
    database,
    ['', '-wal', '-shm', '-journal'].map((suffix) => database + suffix),
  )
  await boundLog(dataDir)
  const server = spawnServer(settings)
  try {
    await waitUntilReady(settings, server, signal, onProgress)
    await finishDatabase(dataDir)
    return server
  } catch (error) {
    await endServer(server, dataDir)
    // Somebody may have taken a port between our look at it and the server's.
    await requireFreePorts(settings)
    throw error
  }
}

async function waitUntilReady(
  settings: ServerSettings,
  server: ServerProcess,
  signal: AbortSignal,
  onProgress: (line: string) => void,
): Promise<void> {
  const { dataDir } = settings
  const startedAt = performance.now()
  let toldAt = startedAt
  for (;;) {
    const isReady = await isServing(addressOf(settings), embeddedNamespace, checkTimeoutMs)
    signal.throwIfAborted()
    // Also looked at when somebody answers: it might be another server that has just taken the port.
    if (!isRunning(server.ref)) {
      await server.exited
      if (server.wasKilled()) throw new KilledAtStart('The Temporal server was killed at its start')
      throw new StartError(
        `The Temporal server ended at its start: ${await lastLogMessage(dataDir)} (log in ${dataDir})`,
      )
    }
    if (isReady) return
    const waitedMs = performance.now() - startedAt
    if (waitedMs > readyTimeoutMs) {
      throw new StartError(
        `The Temporal server was not ready within ${readyTimeoutMs / 1_000} s; its log is in ${dataDir}`,
      )
    }
    if (performance.now() - toldAt > progressMs) {
      toldAt = performance.now()
      onProgress(`Waiting for the Temporal server: ${Math.round(waitedMs / 1_000)} s`)
    }
    await sleep(readyPollMs)
  }
}

/** The server in this folder is ready: its database is whole, whoever started the server, and is kept from now on. */
export const finishDatabase = (dataDir: string): Promise<void> => finishMaking(join(dataDir, databaseFile))

async function requireFreePorts({ port, uiPort }: ServerSettings): Promise<void> {
  const wanted = [
    ['POSTRIDER_TEMPORAL_PORT', port],
    ['POSTRIDER_TEMPORAL_UI_PORT', uiPort],
  ] as const
  for (const [name, number] of wanted) {
    if (!(await isPortFree(serverHost, number))) {
      throw new StartError(`Port ${number} is in use; set ${name} to a free one for the Temporal server`)
    }
  }
}

/** Ends the server, removes its note and resolves when it is gone. */
export async function endServer(server: Pick<ServerProcess, 'ref'>, dataDir: string): Promise<void> {
  await endProcess(server.ref, stopGraceMs)
  await removeNote(dataDir)
}

/** host:port of the gRPC service. */
export function addressOf({ port }: { port: number }): string {
  return `${serverHost}:${port}`
}
