/** Hands deletion requests that wait in the database to Temporal, on any node, as soon as it takes them. */

import type { Database } from '../db/database.ts'
import { markDeletionRunning, waitingDeletionRequests } from '../db/deletion-requests.ts'
import type { Logger } from '../logger.ts'
import { createPause } from '../pause.ts'

/** Requests handed over at a time, and milliseconds between two looks. */
const batchSize = 20
const pauseMs = 2_000

export interface DeletionStarter {
  /** There is a new request. */
  wake: () => void
  stop(): Promise<void>
}

/** @param start  starts the workflow of a request, once however often it is called */
export function runDeletionStarter(
  database: Database,
  start: (requestId: string) => Promise<void>,
  logger: Logger,
): DeletionStarter {
  let stopping = false
  const pause = createPause()

  const run = async (): Promise<void> => {
    while (!stopping) {
      try {
        for (const id of await waitingDeletionRequests(database, batchSize)) {
          await start(id)
          await markDeletionRunning(database, id)
        }
      } catch (error) {
        logger.warn({ error: (error as Error).message }, 'deletions.not_started')
      }
      if (!stopping) await pause.wait(pauseMs)
    }
  }

  const running = run()
  return {
    wake: pause.wake,
    async stop() {
      stopping = true
      pause.wake()
      await running
    },
  }
}
