/** The structured log: one line of JSON per fact. */

import { pino, type Logger } from 'pino'

export type { Logger }

/** What is kept of a log that cannot be written now, in bytes; further lines are dropped. */
const maxWaitingBytes = 1_000_000

/** A log that cannot be written, as on a full disk, ends nothing; what waits is written when there is room again.
 *  @param level  pino level, `silent` for none
 *  @param destination  file descriptor or path; standard error by default, so that the start-up text stays readable */
export function createLogger(level: string, destination: number | string = 2): Logger {
  const stream = pino.destination({ dest: destination, sync: false, maxLength: maxWaitingBytes })
  let isFailing = false
  stream.on('error', () => (isFailing = true))
  stream.on('write', () => (isFailing = false))
  // pino writes the rest when the process ends, and would try for ever.
  process.prependOnceListener('exit', () => isFailing && stream.destroy())
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}
