/** Users whose events are dropped at the door, in memory: asked for every event. */

import type { Database } from '../db/database.ts'
import { suppressedAfter, suppressionHash } from '../db/suppressed-users.ts'
import type { Logger } from '../logger.ts'

/** Milliseconds between two looks for new ones: a request made on another node counts within twice this time. */
const pollMs = 750

const pageSize = 10_000

export interface Suppression {
  isSuppressed: (sourceId: string, userId: string) => boolean
  /** Reads what is new: after a request made by this node. */
  refresh(): Promise<void>
  close(): void
}

export async function watchSuppression(database: Database, logger: Logger): Promise<Suppression> {
  const hashes = new Set<string>()
  let last = '0'

  const refresh = async (): Promise<void> => {
    for (;;) {
      const page = await suppressedAfter(database, last, pageSize)
      for (const { hash } of page) hashes.add(hash.toString('latin1'))
      const number = page.at(-1)?.number
      // Another read may have been faster.
      if (number !== undefined && BigInt(number) > BigInt(last)) last = number
      if (page.length < pageSize) return
    }
  }

  const poll = async (): Promise<void> => {
    try {
      await refresh()
    } catch (error) {
      logger.warn({ error: (error as Error).message }, 'suppression.not_read')
    }
    if (!closed) timer = setTimeout(() => void poll(), pollMs).unref()
  }

  await refresh()
  let closed = false
  let timer = setTimeout(() => void poll(), pollMs).unref()

  const has = (sourceId: string | undefined, userId: string): boolean =>
    hashes.has(suppressionHash(sourceId, userId).toString('latin1'))
  return {
    isSuppressed: (sourceId, userId) => hashes.size > 0 && (has(undefined, userId) || has(sourceId, userId)),
    refresh,
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
