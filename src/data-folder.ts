/** The folder that holds the embedded databases and keys: made private, and used by one instance at a time. */

import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { StartError } from './errors.ts'
import { acquireProcessLock } from './process-lock.ts'

export interface DataFolder {
  /** Absolute. */
  path: string
  /** Lets the next instance in. */
  close(): Promise<void>
}

/**
 * Creates the folder, readable by its owner alone, and takes it for this process until `close` or its death.
 * @throws StartError when another instance uses the folder, or when it cannot be made or written
 */
export async function openDataFolder(path: string): Promise<DataFolder> {
  const folder = resolve(path)
  const lock = await takeFolder(folder)
  if (lock.kind === 'held') {
    throw new StartError(
      `The data folder ${folder} is in use by another Postrider (process ${lock.pid}); stop it or set POSTRIDER_DATA_DIR`,
    )
  }
  return { path: folder, close: () => lock.release() }
}

/** What the system says of a disk that takes nothing more; 53100 is PostgreSQL's word for a full one. */
const diskFaults: Record<string, string> = {
  ENOSPC: 'its disk is full: make room there',
  '53100': 'its disk is full: make room there',
  EDQUOT: 'the quota of its disk is used up: make room there',
  EROFS: 'its disk is read-only: make it writable',
}

/** Why something failed in the data folder, where its disk is the reason.
 *  @returns undefined when it is not */
export function diskFault(folder: string, error: unknown): StartError | undefined {
  const why = diskFaults[(error as { code?: string }).code ?? '']
  if (why === undefined) return undefined
  return new StartError(`The data folder ${folder} cannot be written, ${why}, or set POSTRIDER_DATA_DIR`, {
    cause: error,
  })
}

async function takeFolder(folder: string) {
  try {
    // Of a read-only disk the first tells only that there is no such folder.
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => mkdir(folder, { mode: 0o700 }))
    return await acquireProcessLock(folder, 'postrider')
  } catch (error) {
    const fault = diskFault(folder, error)
    if (fault !== undefined) throw fault
    const reason = (error as NodeJS.ErrnoException).code ?? String(error)
    throw new StartError(`The data folder ${folder} cannot be used (${reason}); set POSTRIDER_DATA_DIR`, {
      cause: error,
    })
  }
}
