/**
 * A lock between processes of one machine, held by the kernel: it ends with its process, however that ends, and is seen from
 * every container that shares the folder, whatever process ids these have.
 *
 * Every process puts a claim of its own beside those of the others, a Unix socket that it listens on, and has the lock when it
 * then sees no other claim that somebody listens on. Two that claim at the same moment both withdraw and try again, so that
 * there is never a doubtful owner. Claims of dead processes are removed; as no two processes share a file name, this cannot
 * hit a living one.
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open, readdir, rename, rm, type FileHandle } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fitsSocket } from './socket-path.ts'

/** `pid`: of the owner, in its own container. */
export type LockResult = { kind: 'acquired'; release: () => Promise<void> } | { kind: 'held'; pid: number }

const maxAttempts = 12
const maxPauseMs = 150

/**
 * Takes the lock `name` in `folder`, which must exist; the claim is a socket `<name>.<pid>.<random>.lock` there.
 * Answers within about a second, with the pid of the owner when another process (or this one) has it.
 * @throws Error when the folder cannot hold a socket
 */
export async function acquireProcessLock(folder: string, name: string): Promise<LockResult> {
  const directory = await open(folder)
  try {
    let owner = process.pid
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const own = `${name}.${process.pid}.${randomBytes(8).toString('hex')}.lock`
      const withdraw = await claim(directory, folder, own)
      const rival = await findRival(directory, folder, name, own)
      if (rival === undefined) return { kind: 'acquired', release: withdraw }
      owner = rival
      await withdraw()
      await sleep(Math.random() * maxPauseMs)
    }
    return { kind: 'held', pid: owner }
  } finally {
    await directory.close()
  }
}

/** @returns the function that takes it back */
async function claim(directory: FileHandle, folder: string, own: string): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy())
  server.listen(socketPath(directory, folder, `${own}.new`))
  await once(server, 'listening')
  server.unref()
  // Only now: a socket that is bound and not yet listened on looks like that of a dead process.
  await rename(join(folder, `${own}.new`), join(folder, own))
  return async () => {
    await rm(join(folder, own), { force: true })
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Pid of another living process that claims the lock; removes the claims of dead ones on the way. */
async function findRival(
  directory: FileHandle,
  folder: string,
  name: string,
  own: string,
): Promise<number | undefined> {
  for (const file of await readdir(folder)) {
    if (file === own || !file.startsWith(`${name}.`) || !file.endsWith('.lock')) continue
    const pid = Number(file.slice(name.length + 1).split('.')[0])
    if (!Number.isSafeInteger(pid) || pid <= 0) continue
    if (await isListenedOn(socketPath(directory, folder, file))) return pid
    await rm(join(folder, file), { force: true })
  }
  return undefined
}

/** Asks the kernel: a process that is stopped or busy listens all the same. */
async function isListenedOn(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return code !== 'ECONNREFUSED' && code !== 'ENOENT'
  } finally {
    socket.destroy()
  }
}

/** A path that fits: Linux reaches the folder through the open one too, however long its own path is. */
function socketPath(directory: FileHandle, folder: string, file: string): string {
  const path = join(folder, file)
  return fitsSocket(path) || process.platform !== 'linux' ? path : `/proc/self/fd/${directory.fd}/${file}`
}
