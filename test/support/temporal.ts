/** The Temporal server that all test files share, and a namespace of its own for every file that wants one. */

import { randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { inject } from 'vitest'
import { toDuration } from '../../src/temporal/durations.ts'
import { startEmbeddedServer, type EmbeddedServer } from '../../src/temporal/embedded-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** host:port of the run's Temporal server. */
    temporalAddress: string
    /** Path of the `temporal` command, for tests that run a server of their own. */
    temporalCli: string
    /** Folder of the run, removed at its end, or by the next run if it was killed. */
    temporalRunFolder: string
  }
}

const usableTimeoutMs = 60_000

/** host:port of the Temporal server of this test run. */
export function temporalAddress(): string {
  return inject('temporalAddress')
}

/**
 * Makes a folder for a server that a test runs for itself: should the run be killed, the next one ends that server and
 * removes the folder.
 */
export async function makeServerFolder(): Promise<string> {
  return mkdtemp(join(inject('temporalRunFolder'), 'server-'))
}

/** Starts a server that a test runs for itself, which tells nothing of its start.
 *  @param dataDir  as `makeServerFolder` makes it
 *  @param ports  free ones unless given */
export const startServer = (dataDir: string, ports = { port: 0, uiPort: 0 }): Promise<EmbeddedServer> =>
  startEmbeddedServer({ cli: inject('temporalCli'), dataDir, ...ports, onProgress: () => {} })

/**
 * Makes a fresh namespace and waits until workflows can be started in it.
 * @returns its name
 */
export async function createNamespace(address = temporalAddress()): Promise<string> {
  const namespace = `test-${randomUUID()}`
  const connection = await Connection.connect({ address })
  try {
    const { workflowService } = connection
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: toDuration(86_400_000) })
    await waitUntilUsable(connection, namespace)
  } finally {
    await connection.close()
  }
  return namespace
}

/** The server reads a new namespace when it is first asked for; under load that may take a moment. */
async function waitUntilUsable(connection: Connection, namespace: string): Promise<void> {
  const { workflowService } = connection
  const deadline = performance.now() + usableTimeoutMs
  for (;;) {
    try {
      await workflowService.countWorkflowExecutions({ namespace })
      await workflowService.describeTaskQueue({ namespace, taskQueue: { name: 'probe' }, taskQueueType: 1 })
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(100)
    }
  }
}
