/** Waits for what others write into the database: one look at a time for all who wait, none while nobody does. */

import { setTimeout as sleep } from 'node:timers/promises'

export interface Lookout {
  /** Resolves when a look finds the id, the time is over or the signal aborts. */
  wait(id: string, ms: number, signal?: AbortSignal): Promise<void>
}

/** @param look  tells which of these are there
 *  @param pauseMs  before each look, in milliseconds */
export function createLookout(look: (ids: string[]) => Promise<readonly string[]>, pauseMs: number): Lookout {
  const waiting = new Set<{ id: string; found: AbortController }>()
  let isLooking = false

  const keepLooking = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    while (waiting.size > 0) {
      await sleep(pauseMs)
      const ids = [...new Set([...waiting].map(({ id }) => id))]
      // While the database is away nothing is found, and who waits does so within their time.
      const found = new Set(await look(ids).catch(() => []))
      for (const one of waiting) if (found.has(one.id)) one.found.abort()
    }
    isLooking = false
  }

  return {
    async wait(id, ms, signal) {
      const one = { id, found: new AbortController() }
      const end = signal === undefined ? one.found.signal : AbortSignal.any([one.found.signal, signal])
      waiting.add(one)
      void keepLooking()
      await sleep(ms, undefined, { signal: end }).catch(() => undefined)
      waiting.delete(one)
    },
  }
}
