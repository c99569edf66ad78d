/** A data folder that can be filled to its last byte: a file system of its own, which root alone may mount. */

import { execFile } from 'node:child_process'
import { mkdir, open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface FullFolder {
  path: string
  fill(): Promise<void>
  empty(): Promise<void>
  unmount(): Promise<void>
}

/** Allocating at one go fails when others write at the same time; so much is left for them, and then filled piece by piece. */
const leftToAppendBytes = 32 * 2 ** 20

/** @returns undefined where this is not possible: without root, or without Linux */
export async function mountSmallFolder(path: string, megabytes: number): Promise<FullFolder | undefined> {
  await mkdir(path, { recursive: true })
  const run = promisify(execFile)
  const mounted = await run('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${megabytes}m,mode=700`,
    'postrider-chaos',
    path,
  ]).then(
    () => true,
    () => false,
  )
  if (!mounted) return undefined
  const filler = join(path, 'filler')
  return {
    path,
    async fill() {
      const { bavail, bsize } = await statfs(path)
      const most = bavail * bsize - leftToAppendBytes
      if (most > 0) await run('fallocate', ['--length', String(most), filler])
      await appendUntilFull(filler)
    },
    empty: () => rm(filler, { force: true }),
    async unmount() {
      await run('umount', ['--lazy', path])
    },
  }
}

async function appendUntilFull(path: string): Promise<void> {
  const file = await open(path, 'a')
  try {
    for (;;) await file.appendFile(Buffer.alloc(2 ** 20))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    await file.close()
  }
}
