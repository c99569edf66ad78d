/** The log of work that is done again and again: one line when it begins to fail, none until it has worked again. */

import { PartAwayError } from './errors.ts'
import type { Logger } from './logger.ts'

export interface FailureLog {
  failed: (error: unknown) => void
  worked: () => void
}

/** @param line  what is logged, with the error; nothing for a part that has never been there, which is logged elsewhere, once
 *  @param textOf  the error in words; by default its message */
export function createFailureLog(
  logger: Logger,
  line: string,
  textOf: (error: Error) => string = ({ message }) => message,
): FailureLog {
  let isTold = false
  return {
    failed(error) {
      if (isTold || error instanceof PartAwayError) return
      isTold = true
      logger.warn({ error: textOf(error as Error) }, line)
    },
    worked() {
      isTold = false
    },
  }
}
