/** Whose events of the inbox come next: sources take turns, and the destinations of each source. */

import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import { turnsInInbox, type Turn } from '../db/inbox.ts'

/** Turns that are looked at together. */
const maxTurns = 50

/** How long a turn is no newcomer after an event of it came, in milliseconds, and how many such turns are remembered. */
const lateMs = 250
const maxLate = 10_000

/** How many attempts the endpoints of some destinations take now. `open`: all that come; `trial`: some, as they have answered nothing yet or
 *  lately; `probe`: one, which finds out whether they answer again; `shut`: none; `full`: none by the bounds that are set for them, and some
 *  soon. */
export type Readiness = 'open' | 'trial' | 'probe' | 'shut' | 'full'

/** Whether they take any now. */
export const takesSome = (readiness: Readiness): readiness is Exclude<Readiness, 'shut' | 'full'> =>
  readiness !== 'shut' && readiness !== 'full'

export type NextTurns = Record<Readiness, string[]>

export interface InboxTurns {
  /** Reads the next turns from the inbox. Where there are more than can be read together, the next call goes on behind them. */
  next: () => Promise<NextTurns>
  /** To be called when events of a turn came, wherever they went. */
  noteCome(turn: string): void
  /** Events of these turns are about to be written to the inbox.
   *  @returns to be called when they are, or when that failed */
  noteWriting(turns: readonly string[]): () => void
  /** Events are about to be taken from the inbox.
   *  @returns to be called with each turn of which nothing was left, once what was taken has been started: unless more of it was written
   *  meanwhile, nothing of it waits any more */
  beginTaking(): (emptied: string) => void
  /** Whether events of the turn may wait in the inbox: there were some when it was last looked at, or some came since. Nothing
   *  is known to wait before all turns were looked at. */
  mayWait(turn: string): boolean
  /** Whether nothing of the turn waits, and nothing of it came a moment ago. */
  isNewcomer(turn: string): boolean
}

/** @param readiness  of the endpoints of destinations, taken together */
export function createInboxTurns(
  database: Database,
  readiness: (destinationIds: readonly string[]) => Readiness,
): InboxTurns {
  let after = ''
  /** The turns that were found by the last looks that saw all of them; undefined before that. */
  let waited: Set<string> | undefined
  /** The turns found by the looks since then; those written to before these looks began, and since, each with the number of its last write. */
  let seen = new Set<string>()
  let writtenBefore = new Map<string, number>()
  let written = new Map<string, number>()
  /** The number of the last write that began, and the turns of each write that is under way. */
  let writes = 0
  const underWay = new Set<readonly string[]>()
  const lately = new LRUCache<string, true>({ max: maxLate, ttl: lateMs })
  const mayWait = (turn: string): boolean =>
    waited !== undefined && [waited, seen, writtenBefore, written].some((turns) => turns.has(turn))
  const lastWrite = (turn: string): number => written.get(turn) ?? writtenBefore.get(turn) ?? 0

  const read = async (): Promise<Turn[]> => {
    if (after === '') {
      for (const [turn, write] of written) writtenBefore.set(turn, write)
      written = new Map()
    }
    const turns = await turnsInInbox(database, after, maxTurns)
    for (const { id } of turns) seen.add(id)
    after = turns.length < maxTurns ? '' : (turns.at(-1)?.id ?? '')
    if (after === '') {
      waited = seen
      seen = new Set()
      writtenBefore = new Map()
    }
    return turns
  }

  return {
    async next() {
      const wasBehind = after !== ''
      const turns = await read()
      const next: NextTurns = { open: [], trial: [], probe: [], shut: [], full: [] }
      for (const { id, destinationIds } of turns.length === 0 && wasBehind ? await read() : turns)
        next[readiness(destinationIds)].push(id)
      return next
    },
    noteCome(turn) {
      lately.set(turn, true)
    },
    noteWriting(turns) {
      writes += 1
      for (const turn of turns) written.set(turn, writes)
      underWay.add(turns)
      return () => underWay.delete(turns)
    },
    beginTaking() {
      const before = writes
      const unsure = new Set([...underWay].flat())
      return (turn) => {
        if (unsure.has(turn) || lastWrite(turn) > before) return
        for (const turns of [waited, seen, writtenBefore, written]) turns?.delete(turn)
      }
    },
    mayWait,
    isNewcomer: (turn) => waited !== undefined && !lately.has(turn) && !mayWait(turn),
  }
}
