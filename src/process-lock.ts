/**
 * A lock between processes of one machine that a hard kill cannot leave closed.
 *
 * Every process puts a claim of its own beside those of the others and has the lock when it then sees no other living
 * claim. Two that claim at the same moment both withdraw and try again, so that there is never a doubtful owner. Claims
 * of dead processes are removed; as no two processes share a file name, this cannot hit a living one.
 */

import { createHash } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processIdentity } from './process-identity.ts'

export type LockResult = { kind: 'acquired'; release: () => Promise<void> } | { kind: 'held'; pid: number }

const maxAttempts = 12
const maxPauseMs = 150

/**
 * Takes the lock `name` in `folder`, which must exist; the claim is a file `<name>.<pid>.<start>.lock` there.
 * Answers within about a second, with the pid of the owner when another process (or this one) has it.
 */
export async function acquireProcessLock(folder: string, name: string): Promise<LockResult> {
  const own = claimName(name, process.pid)
  let owner = process.pid
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (!(await createClaim(join(folder, own)))) return { kind: 'held', pid: process.pid }
    const rival = await findRival(folder, name, own)
    if (rival === undefined) return { kind: 'acquired', release: () => rm(join(folder, own), { force: true }) }
    owner = rival
    await rm(join(folder, own), { force: true })
    await sleep(Math.random() * maxPauseMs)
  }
  return { kind: 'held', pid: owner }
}

async function createClaim(path: string): Promise<boolean> {
  try {
    await writeFile(path, '', { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Pid of another living process that claims the lock; removes the claims of dead ones on the way. */
async function findRival(folder: string, name: string, own: string): Promise<number | undefined> {
  for (const file of await readdir(folder)) {
    if (file === own || !file.startsWith(`${name}.`) || !file.endsWith('.lock')) continue
    const pid = Number(file.slice(name.length + 1).split('.')[0])
    if (!Number.isSafeInteger(pid) || pid <= 0) continue
    if (file === claimName(name, pid)) return pid
    await rm(join(folder, file), { force: true })
  }
  return undefined
}

/** The claim of the process that has `pid` now; a former process of this pid had another one. */
function claimName(name: string, pid: number): string {
  const start = createHash('sha256')
    .update(processIdentity(pid) ?? '')
    .digest('hex')
    .slice(0, 16)
  return `${name}.${pid}.${start}.lock`
}
