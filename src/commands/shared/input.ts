/** Files that the command line names. */

import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { parse } from 'yaml'
import { usageError } from './failure.ts'

/** The text of a file, or of standard input as `-`.
 *  @throws CommandError (usage) when the file cannot be read */
export const readInput = (path: string): Promise<string> =>
  path === '-' ? text(process.stdin) : readFile(path, 'utf8').catch(unreadable(path))

const faults: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
}

/** Says why a file is not read. */
export const unreadable =
  (path: string) =>
  ({ code = '', message }: NodeJS.ErrnoException): never => {
    throw usageError(`${path} cannot be read: ${faults[code] ?? message}`)
  }

/** What YAML or JSON says. @param name  what people call the text
 *  @throws CommandError (usage) that says where it is wrong */
export function parseYaml(text: string, name: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    // The lines that follow show a part of the text.
    const [fault = ''] = (error as Error).message.split('\n')
    throw usageError(`${name} is neither YAML nor JSON: ${fault.replace(/:$/, '')}`)
  }
}
