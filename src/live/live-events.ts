/** Hands incoming events to whoever watches their source on this node; nobody watching costs one look-up a request. */

import type { LiveEvent } from '../schemas/live-event.ts'

/** Watchers of one node, and events that wait for one of them. */
const maxWatchers = 50
const maxWaiting = 1_000

/** What a watcher gets next. */
export interface LiveBatch {
  events: LiveEvent[]
  /** Events that found the watcher's buffer full since the batch before. */
  dropped: number
}

export interface Watcher {
  /** Resolves with what came since the last call, at the latest after `waitMs`, then perhaps empty; undefined once closed. */
  next(waitMs: number): Promise<LiveBatch | undefined>
  close(): void
}

export interface LiveEvents {
  /** Takes events of a source; undefined when nobody watches it. */
  sink: (sourceId: string) => ((event: LiveEvent) => void) | undefined
  /** @returns undefined when there are as many watchers as may be */
  watch(sourceId: string): Watcher | undefined
  /** Closes all watchers. */
  close(): void
}

export function createLiveEvents(): LiveEvents {
  const bySource = new Map<string, Set<Buffered>>()
  let watchers = 0

  const remove = (sourceId: string, watcher: Buffered): void => {
    const ofSource = bySource.get(sourceId)
    if (ofSource?.delete(watcher) !== true) return
    watchers--
    if (ofSource.size === 0) bySource.delete(sourceId)
  }

  return {
    sink(sourceId) {
      const ofSource = bySource.get(sourceId)
      return ofSource && ((event) => ofSource.forEach((watcher) => watcher.push(event)))
    },
    watch(sourceId) {
      if (watchers >= maxWatchers) return undefined
      const watcher = createWatcher(() => remove(sourceId, watcher))
      const ofSource = bySource.get(sourceId) ?? new Set()
      bySource.set(sourceId, ofSource.add(watcher))
      watchers++
      return watcher
    },
    close() {
      for (const watcher of [...bySource.values()].flatMap((ofSource) => [...ofSource])) watcher.close()
    },
  }
}

interface Buffered extends Watcher {
  push(event: LiveEvent): void
}

function createWatcher(onClose: () => void): Buffered {
  let waiting: LiveBatch = { events: [], dropped: 0 }
  let closed = false
  let wake = (): void => {}
  return {
    push(event) {
      if (waiting.events.length < maxWaiting) waiting.events.push(event)
      else waiting.dropped++
      wake()
    },
    async next(waitMs) {
      if (!closed && waiting.events.length === 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      const batch = waiting
      waiting = { events: [], dropped: 0 }
      return closed ? undefined : batch
    },
    close() {
      closed = true
      onClose()
      wake()
    },
  }
}
