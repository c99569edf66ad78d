/** The structured log: one line of JSON per fact. */

import { pino, type Logger } from 'pino'

export type { Logger }

/** @param level  pino level, `silent` for none
 *  @param destination  file descriptor or path; standard error by default, so that the start-up text stays readable */
export const createLogger = (level: string, destination: number | string = 2): Logger =>
  pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: destination, sync: false }),
  )
