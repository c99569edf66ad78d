/** Several lists as one, newest first. */

import type { Delivery } from '../schemas/delivery.ts'

/** Takes up to `limit` deliveries from lists that have each the order of Temporal: what is under way first, then by end,
 *  newest first.
 *  @returns them, and how many came from the beginning of each list */
export function mergeNewestFirst(lists: readonly Delivery[][], limit: number): { items: Delivery[]; taken: number[] } {
  const items: Delivery[] = []
  const taken = lists.map(() => 0)
  while (items.length < limit) {
    const heads = lists.flatMap((list, index) => {
      const head = list[taken[index] ?? 0]
      return head === undefined ? [] : [{ head, index }]
    })
    const [newest] = heads.sort((a, b) => byAge(a.head, b.head))
    if (newest === undefined) break
    items.push(newest.head)
    taken[newest.index] = (taken[newest.index] ?? 0) + 1
  }
  return { items, taken }
}

/** Where Temporal sorts what has not ended. */
const notYet = '9999-12-31T23:59:59.000Z'

const byAge = (a: Delivery, b: Delivery): number =>
  (b.endedAt ?? notYet).localeCompare(a.endedAt ?? notYet) || b.startedAt.localeCompare(a.startedAt)
