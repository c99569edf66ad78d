/** Whose events of the inbox come next: sources take turns, and the destinations of each source. */

import type { Database } from '../db/database.ts'
import { turnsInInbox } from '../db/inbox.ts'

/** Turns that are looked at together. */
const maxTurns = 50

/** Whether the endpoints of some destinations take attempts now: all that come; one, to find out whether they are back; none. */
export type Readiness = 'open' | 'probe' | 'shut'

export interface NextTurns {
  open: string[]
  probe: string[]
  shut: string[]
}

/** @param readiness  of the endpoints of destinations, taken together
 *  @returns tells the next turns; when there are more than can be looked at together, it goes on behind them the next time */
export function createInboxTurns(
  database: Database,
  readiness: (destinationIds: readonly string[]) => Readiness,
): () => Promise<NextTurns> {
  let after = ''
  return async () => {
    let turns = await turnsInInbox(database, after, maxTurns)
    if (turns.length === 0 && after !== '') turns = await turnsInInbox(database, '', maxTurns)
    after = turns.length < maxTurns ? '' : (turns.at(-1)?.id ?? '')
    const next: NextTurns = { open: [], probe: [], shut: [] }
    for (const { id, destinationIds } of turns) next[readiness(destinationIds)].push(id)
    return next
  }
}
