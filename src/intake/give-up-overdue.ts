/** Ends events of the inbox that waited for endpoints for longer than an event is retried. */

import type { Database } from '../db/database.ts'
import { giveUpOverdue } from '../db/inbox.ts'

/** How often it looks, in milliseconds, and how many events it gives up together. */
const pauseMs = 10_000
const batch = 10_000

const reason = 'not attempted: its endpoints were down for as long as it might be retried'

/** @param windowMs  how long an event may wait, in milliseconds
 *  @returns to be called now and then with the turns whose endpoints take nothing */
export function giveUpNowAndThen(database: Database, windowMs: number): (turns: readonly string[]) => Promise<void> {
  let nextAt = 0
  return async (turns) => {
    if (performance.now() < nextAt) return
    nextAt = performance.now() + pauseMs
    for (const turn of turns) await giveUpOverdue(database, turn, windowMs, reason, batch)
  }
}
