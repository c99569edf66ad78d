/** The folder of the embedded database as the first start makes it. */

import { execFile } from 'node:child_process'
import { chmod, cp, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const isBuilt = !import.meta.url.endsWith('.ts')

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Makes a database with all tables that is on the disk, for its user alone: a copy of the one that the build made, or one
 *  made on the spot when the sources run.
 *  @param folder  absolute; does not exist yet
 *  @throws Error when it cannot be written */
export async function makePgliteFolder(folder: string): Promise<void> {
  if (isBuilt) await cp(pathOf('../../database-template'), folder, { recursive: true })
  else await makeFromSources(folder)
  await keepPrivately(folder)
}

/** Makes the database in a process of its own, as the build does. */
async function makeFromSources(folder: string): Promise<void> {
  const args = ['--import', 'tsx', pathOf('./make-database.ts'), folder]
  await promisify(execFile)(process.execPath, args, { cwd: pathOf('../..') })
}

/** Makes the folder private to its user, and syncs it to the disk, which neither copying nor making it does. */
async function keepPrivately(folder: string): Promise<void> {
  await chmod(folder, 0o700)
  const entries = await readdir(folder, { withFileTypes: true })
  await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return keepPrivately(path)
      await chmod(path, 0o600)
      await sync(path)
    }),
  )
  await sync(folder)
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
