import { writeFile } from 'node:fs/promises'
import { CommandError } from './failure.ts'

/** Codes of faults of the path, not of the disk. */
const wrongPath = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM'])

/** Writes a file that the command line names.
 *  @throws CommandError when it cannot be written, (usage) for its path */
export const writeOutput = (path: string, text: string): Promise<void> =>
  writeFile(path, text).catch((error: NodeJS.ErrnoException) => {
    const isPath = wrongPath.has(error.code ?? '')
    throw new CommandError(isPath ? 'usage' : 'failed', `${path} cannot be written: ${error.message}`, { cause: error })
  })
