/** A loop that looks at something again and again: at once when woken, and on when a look fails. */

import { createFailureLog } from './failure-log.ts'
import type { Logger } from './logger.ts'
import { createPause } from './pause.ts'

/** Milliseconds between two looks; the caller may set others. */
const defaultPauseMs = 2_000

export interface Looking {
  /** Looks at once: there is something new. */
  wake: () => void
  /** Lets the look under way finish. */
  stop(): Promise<void>
}

/** @param failure  what is logged when looks begin to fail
 *  @param pauseMs  between two looks, in milliseconds; 2,000 unless given
 *  @param beginsLater  the first look comes after a pause, too: a start need not wait for it */
export function keepLooking(options: {
  look: () => Promise<void>
  failure: string
  pauseMs?: number
  beginsLater?: boolean
  logger: Logger
}): Looking {
  const { look, failure, pauseMs = defaultPauseMs, beginsLater = false, logger } = options
  let stopping = false
  const pause = createPause()
  const failures = createFailureLog(logger, failure)

  const run = async (): Promise<void> => {
    if (beginsLater) await pause.wait(pauseMs)
    while (!stopping) {
      try {
        await look()
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
