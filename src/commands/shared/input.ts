import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { usageError } from './failure.ts'

/** The text of a file, or of standard input as `-`.
 *  @throws CommandError (usage) when the file cannot be read */
export const readInput = (path: string): Promise<string> =>
  path === '-'
    ? text(process.stdin)
    : readFile(path, 'utf8').catch((error: Error) => {
        throw usageError(error.message)
      })
