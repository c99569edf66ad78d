/** How many events of parcels this node has yet to attempt: the next parcel of a turn is started when few of it are left, so that
 *  events of a source go out in their order, and those of an endpoint that hangs hold up no others. */

import { LRUCache } from 'lru-cache'
import { createPrecedence, type Precedence } from './precedence.ts'

/** Parcels are started while fewer events of their turn than this are left: about as many as are attempted while a workflow
 *  starts. */
const maxLeft = 64

/** Parcels that were started here and whose round has not begun; another worker may make it. */
const maxExpected = 1_000

/** Events that count as long as they are not through. */
export interface LoadOfEvents {
  /** One more is through. */
  through(): void
  /** So are all others. */
  end(): void
}

export interface ParcelLoad {
  /** Which parcels go before the others, by their ids. */
  precedence: Precedence
  /** A parcel's workflow is about to be started for the first time. */
  expect(parcelId: string): void
  /** Whether no round of the parcel was made before, as far as is known: true once for each that was expected. */
  isFresh(parcelId: string): boolean
  /** So many events of a turn are about to be attempted. */
  begin(turn: string, events: number): LoadOfEvents
  /** Whether one more parcel of the turn may be started. */
  hasRoom(turn: string): boolean
  /** Resolves when there is room for one more parcel of the turn, or `signal` aborts. */
  room(turn: string, signal: AbortSignal): Promise<void>
}

export function createParcelLoad(): ParcelLoad {
  /** Those of which some are left, and who waits for room. */
  const turns = new Map<string, { left: number; waiting: Set<() => void> }>()
  const expected = new LRUCache<string, true>({ max: maxExpected })
  const hasRoom = (turn: string): boolean => (turns.get(turn)?.left ?? 0) < maxLeft

  const turnOf = (id: string) => {
    const turn = turns.get(id) ?? { left: 0, waiting: new Set() }
    turns.set(id, turn)
    return turn
  }

  return {
    precedence: createPrecedence(),
    expect: (parcelId) => void expected.set(parcelId, true),
    isFresh: (parcelId) => expected.delete(parcelId),
    begin(id, events) {
      const turn = turnOf(id)
      let open = events
      turn.left += events
      const lift = (count: number): void => {
        open -= count
        turn.left -= count
        if (hasRoom(id)) for (const look of [...turn.waiting]) look()
        if (turn.left === 0 && turns.get(id) === turn) turns.delete(id)
      }
      return { through: () => lift(Math.min(1, open)), end: () => lift(open) }
    },
    hasRoom,
    room(id, signal) {
      const waiting = turns.get(id)?.waiting
      if (waiting === undefined || hasRoom(id) || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const look = (): void => {
          waiting.delete(look)
          signal.removeEventListener('abort', look)
          resolve()
        }
        waiting.add(look)
        signal.addEventListener('abort', look)
      })
    },
  }
}
