/** How many events wait in the inbox, as far as a node knows: counted now and then, and what it writes itself added. */

import type { Queryable } from '../db/database.ts'
import { countInbox, inboxDepth } from '../db/inbox.ts'

/** How long a count is believed, in milliseconds, and at least as a multiple of the time that it took: counting a full inbox takes a share of
 *  the database's time and no more. */
const believedMs = 1_000
const believedPerCount = 20

export interface InboxDepth {
  /** Counts, unless the last count is believed still. @throws what the database throws */
  look(): Promise<void>
  /** So many events were written. */
  add(events: number): void
  /** As far as is known, and never more than the inbox may hold, beside what was added. */
  known(): number
}

/** @param inboxMax  how many events may wait; it is counted exactly from half of that on */
export function createInboxDepth(database: Queryable, inboxMax: number): InboxDepth {
  let depth = 0
  let believedUntil = -Infinity

  return {
    async look() {
      const begun = performance.now()
      if (begun < believedUntil) return
      const atMost = await inboxDepth(database)
      depth = atMost < inboxMax / 2 ? atMost : await countInbox(database, inboxMax)
      believedUntil = performance.now() + Math.max(believedMs, believedPerCount * (performance.now() - begun))
    },
    add: (events) => void (depth += events),
    known: () => depth,
  }
}
