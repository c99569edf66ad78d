/** What lists do not know of deliveries: of one that is tried again, its attempts so far, the next one, and why the last one failed;
 *  of one that was cancelled, its attempts and the last reason; of one with attempts that Temporal took no account of, how many were made. */

import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Delivery } from '../schemas/delivery.ts'

/** A delivery that is tried again is read anew once its next attempt was due, at the latest after this time, in milliseconds. */
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
 *  @param read  a delivery with all that is known of it; undefined when it is gone
 *  @param countLate  late attempts of each of these deliveries that has any */
export function completeRows(
  read: (id: string) => Promise<News | undefined>,
  countLate: (ids: readonly string[]) => Promise<Map<string, number>>,
): (rows: Delivery[]) => Promise<Delivery[]> {
  const known = new LRUCache<string, News>({ max: maxKnown, allowStale: true, noDeleteOnStaleGet: true })
  const beingRead = new Set<string>()

  const look = async (row: Delivery, key: string): Promise<void> => {
    if (beingRead.has(key)) return
    beingRead.add(key)
    const delivery = await read(row.id).finally(() => beingRead.delete(key))
    if (delivery === undefined) return
    const { attempts, nextAttemptAt, reason } = delivery
    known.set(key, { attempts, nextAttemptAt, reason }, { ttl: freshFor(row, nextAttemptAt) })
  }

  return async (rows) => {
    const late = await countLate(rows.map(({ id }) => id)).catch(() => new Map<string, number>())
    const incomplete = new Map(
      rows
        .filter((row) => isIncomplete(row) || late.has(row.id))
        .map((row): [Delivery, string] => [row, keyOf(row, late.get(row.id) ?? 0)]),
    )
    if (incomplete.size === 0) return rows
    const left = [...incomplete].filter(([, key]) => !known.has(key)).values()
    const looking = Array.from({ length: concurrency }, async () => {
      for (const [row, key] of left) await look(row, key).catch(() => undefined)
    })
    await Promise.race([Promise.all(looking), sleep(waitMs, undefined, { ref: false })])
    return rows.map((row) => ({ ...row, ...known.get(incomplete.get(row) ?? '') }))
  }
}

/** Those of parcels have it in their row. */
const isIncomplete = ({ status, attempts }: Delivery): boolean =>
  attempts === null && (status === 'retrying' || status === 'held' || status === 'cancelled')

/** What was read while it was tried again does not tell how it ended, nor of attempts that were told later. */
const keyOf = ({ id, endedAt }: Delivery, late: number): string => `${endedAt ?? ''} ${late} ${id}`

/** In milliseconds; 0: for ever. */
function freshFor({ endedAt }: Delivery, nextAttemptAt: string | null): number {
  if (endedAt !== null) return 0
  const untilDue = nextAttemptAt === null ? unknownMs : Date.parse(nextAttemptAt) - Date.now()
  return Math.max(unknownMs, Math.min(untilDue, freshMs))
}
