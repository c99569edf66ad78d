/** Hands deletion requests that wait in the database to Temporal, on any node, as soon as it takes them. */

import type { Database } from '../db/database.ts'
import { markDeletionRunning, waitingDeletionRequests } from '../db/deletion-requests.ts'
import type { Logger } from '../logger.ts'

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
  let woken = false
  let wakeUp = (): void => {}

  const pause = async (): Promise<void> => {
    if (woken || stopping) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  const run = async (): Promise<void> => {
    while (!stopping) {
      woken = false
      try {
        for (const id of await waitingDeletionRequests(database, batchSize)) {
          await start(id)
          await markDeletionRunning(database, id)
        }
      } catch (error) {
        logger.warn({ error: (error as Error).message }, 'deletions.not_started')
      }
      await pause()
    }
  }

  const running = run()
  const wake = (): void => {
    woken = true
    wakeUp()
  }
  return {
    wake,
    async stop() {
      stopping = true
      wake()
      await running
    },
  }
}
