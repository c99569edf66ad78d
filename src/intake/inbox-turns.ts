/** Whose events of the inbox come next: sources take turns, and the destinations of each source. */

import type { Database } from '../db/database.ts'
import { turnsInInbox, type Turn } from '../db/inbox.ts'

/** Turns that are looked at together. */
const maxTurns = 50

/** Whether the endpoints of some destinations take attempts now. `open`: all that come; `trial`: some, as nothing has come back
 *  yet or lately; `probe`: one, to find out whether they are back; `shut`: none. */
export type Readiness = 'open' | 'trial' | 'probe' | 'shut'

export type NextTurns = Record<Readiness, string[]>

export interface InboxTurns {
  /** Tells the next turns; when there are more than can be looked at together, it goes on behind them the next time. */
  next: () => Promise<NextTurns>
  /** Events of these sources were written to the inbox. */
  noteWritten(sourceIds: Iterable<string>): void
  /** Whether events of the source may wait in the inbox: there were some at the last look, or some came since. */
  mayWait(sourceId: string): boolean
}

/** @param readiness  of the endpoints of destinations, taken together */
export function createInboxTurns(
  database: Database,
  readiness: (destinationIds: readonly string[]) => Readiness,
): InboxTurns {
  let after = ''
  /** Undefined while there are more than were looked at together. */
  let seen: Set<string> | undefined
  let written = new Set<string>()

  const read = async (): Promise<Turn[]> => {
    const turns = await turnsInInbox(database, after, maxTurns)
    return turns.length === 0 && after !== '' ? turnsInInbox(database, '', maxTurns) : turns
  }

  return {
    async next() {
      const isWhole = after === ''
      const before = written
      written = new Set()
      const turns = await read().catch((error: unknown) => {
        for (const sourceId of before) written.add(sourceId)
        throw error
      })
      seen = isWhole && turns.length < maxTurns ? new Set(turns.map(sourceOf)) : undefined
      after = turns.length < maxTurns ? '' : (turns.at(-1)?.id ?? '')
      const next: NextTurns = { open: [], trial: [], probe: [], shut: [] }
      for (const { id, destinationIds } of turns) next[readiness(destinationIds)].push(id)
      return next
    },
    noteWritten(sourceIds) {
      for (const sourceId of sourceIds) written.add(sourceId)
    },
    mayWait: (sourceId) => seen === undefined || seen.has(sourceId) || written.has(sourceId),
  }
}

/** The id of a turn begins with that of its source. */
const sourceOf = ({ id }: Turn): string => id.slice(0, id.indexOf(' '))
