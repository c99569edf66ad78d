/** Work that waits in the database, done on any node: at once when woken, after a restart, and when Temporal was away. */

import { createFailureLog } from './failure-log.ts'
import type { Logger } from './logger.ts'
import { createPause } from './pause.ts'

/** Milliseconds between two looks at the database; the caller may set others. */
const defaultPauseMs = 2_000

export interface Backlog {
  /** Looks at once: there is something new. */
  wake: () => void
  stop(): Promise<void>
}

/** Looks again and again for what waits, and handles it, one by one.
 *  @param waiting  ids of some that wait
 *  @param handle  does what one of them waits for; another call for the same one does no harm
 *  @param failure  what is logged when either begins to fail; both are tried again at the next look
 *  @param pauseMs  between two looks, in milliseconds; 2,000 unless given */
export function runBacklog(options: {
  waiting: () => Promise<string[]>
  handle: (id: string) => Promise<void>
  failure: string
  pauseMs?: number
  logger: Logger
}): Backlog {
  const { waiting, handle, failure, pauseMs = defaultPauseMs, logger } = options
  let stopping = false
  const pause = createPause()
  const failures = createFailureLog(logger, failure)

  const run = async (): Promise<void> => {
    while (!stopping) {
      try {
        for (const id of await waiting()) await handle(id)
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
