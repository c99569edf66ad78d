/** What lists do not know of a delivery that is tried again: its attempts so far, the next one, and why the last one failed. */

import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Delivery } from '../schemas/delivery.ts'

/** A delivery is read anew once its next attempt was due, at the latest after this time, in milliseconds. */
const freshMs = 15_000

/** Where the next attempt is not known, it is read anew after this time, in milliseconds. */
const unknownMs = 2_000

/** How long a page waits for its rows, in milliseconds; the others stay as the list has them until the next time. */
const waitMs = 800

/** Deliveries that are read side by side, and those that are remembered. */
const concurrency = 8
const maxKnown = 5_000

type News = Pick<Delivery, 'attempts' | 'nextAttemptAt' | 'reason'>

/** Completes rows of a list.
 *  @param read  a delivery with all that is known of it; undefined when it is gone */
export function createRetryingRows(
  read: (id: string) => Promise<News | undefined>,
): (rows: Delivery[]) => Promise<Delivery[]> {
  const known = new LRUCache<string, News>({ max: maxKnown, allowStale: true, noDeleteOnStaleGet: true })
  const beingRead = new Set<string>()

  const look = async (id: string): Promise<void> => {
    if (beingRead.has(id)) return
    beingRead.add(id)
    const delivery = await read(id).finally(() => beingRead.delete(id))
    if (delivery === undefined) return
    const { attempts, nextAttemptAt, reason } = delivery
    const untilDue = nextAttemptAt === null ? unknownMs : Date.parse(nextAttemptAt) - Date.now()
    known.set(id, { attempts, nextAttemptAt, reason }, { ttl: Math.max(unknownMs, Math.min(untilDue, freshMs)) })
  }

  return async (rows) => {
    // Those of parcels have it in their row.
    const unknown = rows.filter(
      ({ id, status, attempts }) => isTriedAgain(status) && attempts === null && !known.has(id),
    )
    const left = unknown.values()
    const looking = Array.from({ length: concurrency }, async () => {
      for (const { id } of left) await look(id).catch(() => undefined)
    })
    if (unknown.length > 0) await Promise.race([Promise.all(looking), sleep(waitMs, undefined, { ref: false })])
    return rows.map((row) =>
      isTriedAgain(row.status) && row.attempts === null ? { ...row, ...known.get(row.id) } : row,
    )
  }
}

const isTriedAgain = (status: Delivery['status']): boolean => status === 'retrying' || status === 'held'
