/** The disk of the data folder. */

import { access, constants, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ok, problem, warning, type Check } from './check.ts'

const mega = 1_000_000

/** The embedded databases need 40 MB to begin with; below the second figure a busy node fills what is left within hours. */
const problemBelowBytes = 100 * mega
const warningBelowBytes = 1_000 * mega

const mend = 'Make room there, or set POSTRIDER_DATA_DIR to a folder of another disk: a full one takes no events.'

/** @param folder  absolute; the first start makes it */
export async function checkDisk(folder: string): Promise<Check> {
  try {
    await access(folder, constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    return judgeRoom(folder, bavail * bsize)
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && dirname(folder) !== folder) return checkDisk(dirname(folder))
    return problem('data folder', `${folder} cannot be written (${code})`, mend)
  }
}

/** @param freeBytes  that a user may fill */
export function judgeRoom(folder: string, freeBytes: number): Check {
  const found = `${Math.floor(freeBytes / mega)} MB free at ${folder}`
  if (freeBytes < problemBelowBytes) return problem('data folder', found, mend)
  if (freeBytes < warningBelowBytes) return warning('data folder', found, mend)
  return ok('data folder', found)
}
