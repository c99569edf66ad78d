/** A data folder that can be filled to its last byte: a file system of its own, which root alone may mount. */

import { execFile } from 'node:child_process'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface FullFolder {
  path: string
  fill(): Promise<void>
  empty(): Promise<void>
  unmount(): Promise<void>
}

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
      const file = await open(filler, 'w')
      try {
        for (const bytes of [2 ** 20, 2 ** 12, 1]) await appendUntilFull(file, Buffer.alloc(bytes))
      } finally {
        await file.close()
      }
    },
    empty: () => rm(filler, { force: true }),
    async unmount() {
      await run('umount', ['--lazy', path])
    },
  }
}

async function appendUntilFull(file: Awaited<ReturnType<typeof open>>, chunk: Buffer): Promise<void> {
  for (;;) {
    try {
      const { bytesWritten } = await file.write(chunk)
      if (bytesWritten < chunk.length) return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return
      throw error
    }
  }
}
