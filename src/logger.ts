/** The structured log: one line of JSON per fact, with the node that it comes from. `docs/logs.md` lists the lines. */

import { hostname } from 'node:os'
import { pino, type DestinationStream, type Logger } from 'pino'

export type { Logger }

/** What is kept of a log that cannot be written now, in bytes; further lines are dropped. */
const maxWaitingBytes = 1_000_000

/** Names this process among all nodes, and stands in Temporal as the identity of its worker. */
export const nodeName = `${process.pid}@${hostname()}`

export interface LogOptions {
  /** pino level, `silent` for none. */
  level: string
  /** Version of Postrider. */
  version: string
  /** What the node does: `api`, `worker` or both with a comma. */
  role: string
  /** `pretty`: lines for people, in place of JSON. */
  format?: 'json' | 'pretty'
  /** File descriptor or path; standard error by default, so that the start-up text stays readable. */
  destination?: number | string
}

/** A log that cannot be written, as on a full disk, ends nothing; what waits is written when there is room again. */
export async function createLogger({ level, version, role, format, destination = 2 }: LogOptions): Promise<Logger> {
  const file = pino.destination({ dest: destination, sync: false, maxLength: maxWaitingBytes })
  let isFailing = false
  file.on('error', () => (isFailing = true))
  file.on('write', () => (isFailing = false))
  // pino writes the rest when the process ends, and would try for ever.
  process.prependOnceListener('exit', () => isFailing && file.destroy())
  return pino(
    {
      level,
      base: { node: nodeName, role, version },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
      hooks: {
        logMethod(given, log) {
          log.apply(this, inOneForm(given))
        },
      },
    },
    format === 'pretty' ? await prettyLines(file) : file,
  )
}

/** Name of the lines that the HTTP library logs by itself, whose texts are no names. */
export const libraryLine = 'http.server'

const lineName = /^[a-z_]+\.[a-z_]+$/

/** Of a library's own line nothing is taken over but its text and its error's: members of errors hold bytes of requests. */
function inOneForm([first, second]: readonly unknown[]): [object, string] {
  const [facts, text] =
    typeof first === 'string' ? [{}, first] : [first as object, typeof second === 'string' ? second : '']
  if (lineName.test(text)) return [facts, text]
  const error: unknown = facts instanceof Error ? facts : (facts as { err?: unknown }).err
  return [{ text, ...(error instanceof Error && { error: error.message, stack: error.stack }) }, libraryLine]
}

/** Members that are the same in each line of a node are left out. */
async function prettyLines(file: DestinationStream): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const toText = prettyFactory({
    colorize: process.env['NO_COLOR'] === undefined,
    ignore: 'node,role,version',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  })
  return { write: (line) => file.write(toText(line) ?? '') }
}
