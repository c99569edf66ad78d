/** Hands what waits in the database to Temporal, on any node, as soon as Temporal takes it: at once when woken, after a
 *  restart, and when Temporal was away. */

import { createFailureLog } from './failure-log.ts'
import type { Logger } from './logger.ts'
import { createPause } from './pause.ts'

/** Milliseconds between two looks at the database; the caller may set others. */
const defaultPauseMs = 2_000

export interface Starter {
  /** There is something new. */
  wake: () => void
  stop(): Promise<void>
}

/** @param waiting  ids of some that wait
 *  @param start  starts the workflow of one; another call for the same one does no harm
 *  @param failure  what is logged when either begins to fail; it is tried again */
export function runStarter(options: {
  waiting: () => Promise<string[]>
  start: (id: string) => Promise<void>
  failure: string
  /** Between two looks. */
  pauseMs?: number
  logger: Logger
}): Starter {
  const { waiting, start, failure, pauseMs = defaultPauseMs, logger } = options
  let stopping = false
  const pause = createPause()
  const failures = createFailureLog(logger, failure)

  const run = async (): Promise<void> => {
    while (!stopping) {
      try {
        for (const id of await waiting()) await start(id)
        failures.worked()
      } catch (error) {
        failures.failed(error)
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
