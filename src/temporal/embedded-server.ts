/** Runs a Temporal server of our own beside this program, and keeps it running. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { findFreePorts } from '../ports.ts'
import { isRunning } from '../process-identity.ts'
import { ensureRetention } from './retention.ts'
import { isServing } from './server-health.ts'
import { addressOf, embeddedNamespace, endServer, finishDatabase, launchServer } from './server-launch.ts'
import { takeFromGuard } from './server-guard.ts'
import { adoptServer, boundLog, readNote, serverArgs, serverHost } from './server-process.ts'
import { untilBroken } from './server-watch.ts'

export interface EmbeddedServerOptions {
  /** Path of the `temporal` command. */
  cli: string
  /** A folder that this process alone uses. */
  dataDir: string
  /** Ports of 127.0.0.1; 0 takes a free one. */
  port: number
  uiPort: number
  /** Between a hard kill of this process and the end of the server; half a minute when absent. */
  graceSeconds?: number
  /** How long finished workflows are kept, at least an hour; as it is when absent. */
  retentionMs?: number
  /** Ends a start in progress, and the server with it. */
  signal?: AbortSignal
  /** Takes one line of text at a time, for the operator. */
  onProgress: (line: string) => void
}

export interface EmbeddedServer {
  /** host:port of the gRPC service. */
  address: string
  uiUrl: string
  /** Whether the server was left running by an earlier instance. */
  adopted: boolean
  /** Ends the server and waits until it is gone. */
  stop(): Promise<void>
  /** Resolves to 'stopped' after `stop`, or to 'failed' when the server ended and cannot be restarted. */
  exited: Promise<'stopped' | 'failed'>
}

const adoptTimeoutMs = 10_000
const logCheckMs = 60_000

/** Restarts back off from the first pause to the longest one; after `maxRestarts` in a row (9 minutes) it is over. */
const restartPauseMs = 250
const maxRestartPauseMs = 30_000
const maxRestarts = 24
/** A server that lived so long counts as healthy again. */
const healthyMs = 60_000

/**
 * Starts the server, or takes over the one that an earlier instance left behind, and waits until it is ready. A server
 * that dies, or can no longer read its database, is restarted on the same ports.
 * @throws StartError when a port is in use or the server does not come up
 */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { dataDir, onProgress } = options
  const stopping = new AbortController()
  const starting = options.signal ?? stopping.signal
  const left = await takeOverOrphan(options)
  const settings = left?.settings ?? { ...options, ...(await choosePorts(options)) }
  let server = left?.server ?? (await launchServer(settings, starting, onProgress))
  let startedAt = performance.now()
  const address = addressOf(settings)
  try {
    if (options.retentionMs !== undefined) await setRetention(address, options.retentionMs)
  } catch (error) {
    await endServer(server, dataDir)
    throw error
  }
  const logTimer = setInterval(() => void boundLog(dataDir).catch(() => {}), logCheckMs).unref()

  const superviseUntilStopped = async (): Promise<'stopped' | 'failed'> => {
    let restarts = 0
    for (;;) {
      const fault = await untilBroken(address, server.exited)
      if (fault !== undefined && !stopping.signal.aborted) {
        onProgress(`The Temporal server cannot read its database (${fault}); ending it`)
        await endServer(server, dataDir)
      }
      await server.exited
      if (performance.now() - startedAt > healthyMs) restarts = 0
      for (let running = false; !running;) {
        if (stopping.signal.aborted) return 'stopped'
        if (restarts === maxRestarts) return 'failed'
        const pauseMs = Math.min(restartPauseMs * 2 ** restarts++, maxRestartPauseMs)
        onProgress(`The Temporal server has ended; restarting it in ${pauseMs / 1000} s`)
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
        running = await relaunch()
      }
    }
  }
  const relaunch = async (): Promise<boolean> => {
    if (stopping.signal.aborted) return false
    try {
      server = await launchServer(settings, stopping.signal, onProgress)
      if (stopping.signal.aborted) {
        await endServer(server, dataDir)
        return false
      }
      startedAt = performance.now()
      onProgress('The Temporal server is back')
      return true
    } catch (error) {
      if (!stopping.signal.aborted) onProgress(error instanceof Error ? error.message : String(error))
      return false
    }
  }

  const exited = superviseUntilStopped().finally(() => clearInterval(logTimer))
  return {
    address,
    uiUrl: `http://${serverHost}:${settings.uiPort}`,
    adopted: left !== undefined,
    exited,
    async stop() {
      stopping.abort()
      await endServer(server, dataDir)
      await exited
    },
  }
}

/** Ends the server that a dead instance left running in this folder, if there is one. */
export async function endOrphan(dataDir: string): Promise<void> {
  const note = await readNote(dataDir)
  if (note !== undefined) await endServer({ ref: note }, dataDir)
}

/** The server left behind by an instance that was killed, when it is just as we would start it; any other is ended. */
async function takeOverOrphan(options: EmbeddedServerOptions) {
  const note = await readNote(options.dataDir)
  if (note === undefined) return undefined
  const isLetGo = note.guard === undefined || takeFromGuard(options.dataDir, note.guard)
  if (!isRunning(note)) return undefined
  const settings = { ...options, port: options.port || note.port, uiPort: options.uiPort || note.uiPort }
  const isSame = note.cli === options.cli && note.args.join('\n') === serverArgs(settings).join('\n')
  if (isLetGo && isSame) {
    const server = adoptServer(note, settings)
    if (await isServing(addressOf(note), embeddedNamespace, adoptTimeoutMs)) {
      // Its first start may have been the one that was cut off.
      await finishDatabase(options.dataDir)
      return { settings, server }
    }
  }
  options.onProgress('Ending a Temporal server that an earlier instance left running')
  await endOrphan(options.dataDir)
  return undefined
}

async function choosePorts({ port, uiPort }: EmbeddedServerOptions): Promise<{ port: number; uiPort: number }> {
  const [freePort = 0, freeUiPort = 0] = await findFreePorts(serverHost, 2)
  return { port: port || freePort, uiPort: uiPort || freeUiPort }
}

async function setRetention(address: string, retentionMs: number): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: adoptTimeoutMs })
  try {
    await ensureRetention(connection, embeddedNamespace, retentionMs)
  } finally {
    await connection.close()
  }
}
