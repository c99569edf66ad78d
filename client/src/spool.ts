/** Queued messages on disk, one file per batch, so that the next process can send what a crash left behind. */

import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { BatchFile, BatchStore, RecoveredBatch } from './batch-store.ts'
import { unref } from './retry.ts'

/** A living process shows itself this often, and counts as ended after the second span, in milliseconds. */
const HEARTBEAT_MS = 10_000
const STALE_MS = 60_000
const FREE = 'free'
/** Names that this module gives: the folder may hold more than a spool. */
const ROOT_NAME = /^[0-9a-f]{16}$/
const OWNER_NAME = /^(\d+_[0-9a-f]{16}|free)_[0-9a-f-]{36}$/
const FILE_NAME = /^\d{12}\.ndjson$/

/**
 * Layout: `<dir>/<hash of endpoint and write key>/<owner>/<sequence>.ndjson`. A message is written before its call
 * returns and so survives the death of the process (not that of the machine: nothing waits for the disk). A batch's
 * file goes when the batch is finished, so the folder never holds more than the queue. Renaming a file is atomic, so
 * only one process can take over what an ended one left.
 */
export class Spool implements BatchStore {
  readonly #dir: string
  readonly #maxAgeMs: number
  readonly #root: string
  readonly #own: string
  readonly #onFailure: (error: Error) => void
  readonly #heartbeat: NodeJS.Timeout
  /** The file of the newest batch, the only one that is still written. */
  #newest: { path: string; fd: number } | undefined
  #sequence = 0
  #failing = false

  /**
   * @param key  spools with different keys do not see each other's messages
   * @param maxAgeMs  how long messages are kept that cannot be delivered
   * @param onFailure  called once when the disk refuses, and again when it does so after it had recovered
   */
  constructor(dir: string, key: string[], maxAgeMs: number, onFailure: (error: Error) => void) {
    this.#dir = dir
    this.#maxAgeMs = maxAgeMs
    this.#root = join(dir, digest(JSON.stringify(key)))
    this.#own = join(this.#root, `${process.pid}_${machineId()}_${randomUUID()}`)
    this.#onFailure = onFailure
    this.#attempt(() => this.#showLife())
    this.#heartbeat = unref(setInterval(() => this.#attempt(() => this.#showLife()), HEARTBEAT_MS))
  }

  create(): BatchFile {
    this.#closeNewest()
    const path = this.#nextPath()
    let complete = true
    const append = (json: string) => {
      const written = this.#attempt(() => {
        this.#newest ??= { path, fd: fs.openSync(path, 'a', 0o600) }
        fs.writeSync(this.#newest.fd, `${json}\n`)
      })
      complete &&= written
    }
    return this.#fileOf(path, Date.now(), () => complete, append)
  }

  recover(maxBytes: number): RecoveredBatch[] {
    const recovered: RecoveredBatch[] = []
    let room = maxBytes
    this.#attempt(() => {
      for (const left of this.#leftBehind(this.#root)) {
        const batch = left.size <= room && this.#takeOver(left.path, left.writtenAt)
        if (!batch) continue
        room -= batch.messages.reduce((sum, json) => sum + Buffer.byteLength(json) + 1, 0)
        recovered.push(batch)
      }
    })
    return recovered
  }

  removeOutdated(): string[][] {
    const outdated: string[][] = []
    this.#attempt(() => {
      for (const name of listFiles(this.#dir).filter((name) => ROOT_NAME.test(name))) {
        const root = join(this.#dir, name)
        if (root === this.#root) continue
        for (const { path, writtenAt } of this.#leftBehind(root)) {
          const batch = this.#isExpired(writtenAt) && this.#takeOver(path, writtenAt)
          if (!batch) continue
          outdated.push(batch.messages)
          batch.file.remove()
        }
      }
    })
    return outdated
  }

  release(): void {
    clearInterval(this.#heartbeat)
    this.#closeNewest()
    if (fs.existsSync(this.#own) && !removeIfEmpty(this.#own)) {
      this.#attempt(() => fs.renameSync(this.#own, join(this.#root, `${FREE}_${randomUUID()}`)))
    }
  }

  /** The files of owners that are gone, whose folders go when they are empty. */
  *#leftBehind(root: string): Generator<{ path: string; size: number; writtenAt: number }> {
    for (const owner of listFiles(root).filter((name) => OWNER_NAME.test(name))) {
      const folder = join(root, owner)
      if (folder === this.#own || !hasEnded(folder, owner)) continue
      for (const name of listFiles(folder).filter((name) => FILE_NAME.test(name))) {
        const path = join(folder, name)
        const stat = fs.statSync(path, { throwIfNoEntry: false })
        if (stat) yield { path, size: stat.size, writtenAt: stat.mtimeMs }
      }
      removeIfEmpty(folder)
    }
  }

  #isExpired(writtenAt: number): boolean {
    return Date.now() - writtenAt > this.#maxAgeMs
  }

  #fileOf(path: string, writtenAt: number, isComplete: () => boolean, append = (_json: string) => {}): BatchFile {
    const isExpired = () => this.#isExpired(writtenAt)
    return {
      get complete() {
        return isComplete()
      },
      get isExpired() {
        return isExpired()
      },
      append,
      remove: () => this.#remove(path),
    }
  }

  #takeOver(file: string, writtenAt: number): RecoveredBatch | undefined {
    const path = this.#nextPath()
    try {
      fs.renameSync(file, path)
    } catch {
      // Another process was quicker.
      return undefined
    }
    const messages = fs.readFileSync(path, 'utf8').split('\n').filter(isWhole)
    if (messages.length > 0) return { messages, file: this.#fileOf(path, writtenAt, () => true) }
    this.#remove(path)
    return undefined
  }

  #remove(path: string): void {
    if (this.#newest?.path === path) this.#closeNewest()
    this.#attempt(() => fs.rmSync(path, { force: true }))
  }

  #closeNewest(): void {
    if (this.#newest) fs.closeSync(this.#newest.fd)
    this.#newest = undefined
  }

  #showLife(): void {
    fs.mkdirSync(this.#own, { recursive: true, mode: 0o700 })
    fs.utimesSync(this.#own, new Date(), new Date())
  }

  #nextPath(): string {
    return join(this.#own, `${String(this.#sequence++).padStart(12, '0')}.ndjson`)
  }

  #attempt(action: () => void): boolean {
    try {
      action()
      this.#failing = false
      return true
    } catch (error) {
      const isNews = !this.#failing
      this.#failing = true
      if (isNews) this.#onFailure(error as Error)
      return false
    }
  }
}

/** A process id means something only on one machine, and in containers only within one namespace of ids. */
function machineId(): string {
  let namespace = ''
  try {
    namespace = fs.readlinkSync('/proc/self/ns/pid')
  } catch {
    // Not Linux: one namespace per machine.
  }
  return digest(`${hostname()} ${namespace}`)
}

/** Whether the owner of a folder is gone: released, known to be dead, or silent for too long. */
function hasEnded(folder: string, owner: string): boolean {
  const [pid, machine] = owner.split('_')
  if (pid === FREE || (machine === machineId() && !isAlive(Number(pid)))) return true
  const { mtimeMs } = fs.statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity }
  return Date.now() - mtimeMs > STALE_MS
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A crash in the middle of a write leaves a line that is cut off; its call had not returned. */
function isWhole(line: string): boolean {
  try {
    return line !== '' && typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

function listFiles(folder: string): string[] {
  try {
    return fs.readdirSync(folder).sort()
  } catch {
    // Another process has emptied and removed it.
    return []
  }
}

function removeIfEmpty(folder: string): boolean {
  try {
    fs.rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
