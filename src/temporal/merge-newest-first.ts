/** Several lists as one, newest first. */

import type { Delivery } from '../schemas/delivery.ts'
import type { ListedDelivery } from './delivery-row.ts'

/** One of an event in a parcel has no workflow of its own. */
type Row = Delivery | ListedDelivery

/** Takes up to `limit` deliveries from lists that have each the order of Temporal: what is under way first, then by end,
 *  newest first.
 *  @returns them, and how many came from the beginning of each list */
export function mergeNewestFirst<Item extends Row>(
  lists: readonly Item[][],
  limit: number,
): { items: Item[]; taken: number[] } {
  const items: Item[] = []
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

const byAge = (a: Row, b: Row): number =>
  (b.endedAt ?? notYet).localeCompare(a.endedAt ?? notYet) || sortedStart(b).localeCompare(sortedStart(a))

const sortedStart = (row: Row): string => ('workflowStartedAt' in row ? row.workflowStartedAt : row.startedAt)
