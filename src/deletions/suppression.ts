/** Users to whom nothing goes out any more, in memory: asked for every event and every attempt. */

import { setTimeout as sleep } from 'node:timers/promises'
import { countForgets } from '../db/audiences-forget.ts'
import type { Database } from '../db/database.ts'
import { suppressedAfter } from '../db/suppressed-users.ts'
import { userHash } from '../db/user-hashes.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'

/** Milliseconds between two looks for what other nodes were asked for. */
const pollMs = 400

/** An attempt relies on a look that is so old at most, in milliseconds. */
const freshMs = 1_000

/** Timers may be early by some of this, in milliseconds. */
const timerLeewayMs = 50

/** How long attempts wait for a look while the database does not answer, in milliseconds; then they go on without. */
const readLimitMs = 3_000

const pageSize = 10_000

export interface Suppression {
  /** @param sourceId  absent where it is not known: then only a suppression for all sources counts */
  isSuppressed: (sourceId: string | undefined, userId: string) => boolean
  /** Resolves when this node knows what other nodes were asked for until a second ago; undefined when it does already, and
   *  while the database is away: what was known then stands. */
  upToDate(): Promise<void> | undefined
  /** Whether this node knows what other nodes were asked for until a second ago. */
  isCurrent: () => boolean
  /** How often users were taken off the audiences, as far as this node knows. */
  forgets: () => string
  /** Reads what this node was asked for, suppressions and their ends, and resolves once no node goes by what stood before.
   *  @throws what the database throws */
  agree(): Promise<void>
  /** Reads all for the first time, and follows what other nodes are asked for from then on; before that, nobody is
   *  suppressed. */
  load(): Promise<void>
  close(): void
}

/** @param isShared  other nodes may work on the same database */
export function watchSuppression(database: Database, { isShared }: { isShared: boolean }, logger: Logger): Suppression {
  let hashes = new Set<string>()
  let last = '0'
  let forgets = '0'
  let lifts = '0'
  let readAt = -Infinity
  let isAway = false
  let catchingUp: Promise<void> | undefined

  /** Adds the hashes behind a number. @returns the last number */
  const readInto = async (known: Set<string>, after: string): Promise<string> => {
    for (let number = after; ;) {
      const page = await suppressedAfter(database, number, pageSize)
      for (const { hash } of page) known.add(hash.toString('latin1'))
      number = page.at(-1)?.number ?? number
      if (page.length < pageSize) return number
    }
  }

  const read = async (): Promise<void> => {
    const begunAt = performance.now()
    const counted = await countForgets(database)
    if (counted.lifts === lifts) last = await readInto(hashes, last)
    else {
      const known = new Set<string>()
      last = await readInto(known, '0')
      hashes = known
      lifts = counted.lifts
    }
    forgets = counted.forgets
    readAt = begunAt
    isAway = false
  }

  let reading = Promise.resolve()
  /** One after the other: an earlier read must not add whom a later one found lifted. */
  const refresh = (): Promise<void> => (reading = reading.then(read, read))

  const failures = createFailureLog(logger, 'suppression.not_read')
  const poll = async (): Promise<void> => {
    try {
      await refresh()
      failures.worked()
    } catch (error) {
      failures.failed(error)
    }
    pollLater()
  }
  const pollLater = (): void => {
    if (!closed) timer = setTimeout(() => void poll(), pollMs).unref()
  }

  /** Nobody but this node was asked for anything where the database is its own. */
  const isFresh = (): boolean => !isShared || performance.now() - readAt <= freshMs

  const catchUp = async (): Promise<void> => {
    const limit = sleep(readLimitMs, 'late', { ref: false })
    const outcome = await Promise.race([refresh().catch(() => 'failed'), limit])
    if (outcome !== undefined) isAway = true
    catchingUp = undefined
  }

  let closed = false
  let timer: NodeJS.Timeout | undefined

  const has = (sourceId: string | undefined, userId: string): boolean =>
    hashes.has(userHash(sourceId, userId).toString('latin1'))
  return {
    isSuppressed: (sourceId, userId) =>
      hashes.size > 0 && (has(undefined, userId) || (sourceId !== undefined && has(sourceId, userId))),
    upToDate: () => (isFresh() || isAway ? undefined : (catchingUp ??= catchUp())),
    isCurrent: isFresh,
    forgets: () => forgets,
    async agree() {
      await refresh()
      if (isShared) await sleep(freshMs + timerLeewayMs)
    },
    async load() {
      await refresh()
      pollLater()
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
