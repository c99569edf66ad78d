/** How many events of parcels this node is sending: more parcels are started when these are nearly through, so that none waits
 *  in Temporal for a worker, and no event for its place in a list of thousands. */

import { LRUCache } from 'lru-cache'

/** Parcels are started while fewer events than this are in their first round. */
const maxInRounds = 300

/** Parcels that were started here and whose round has not begun; another worker may make it. */
const maxExpected = 1_000

export interface ParcelLoad {
  /** A parcel's workflow is about to be started for the first time. */
  expect(parcelId: string): void
  /** Whether no round of the parcel was made before, as far as is known: true once for each that was expected. */
  isFresh(parcelId: string): boolean
  /** @returns to be called at the end of the round */
  begin(events: number): () => void
  /** Whether one more parcel may be started. */
  hasRoom(): boolean
  /** Resolves when there is room for one more parcel, or `signal` aborts. */
  room(signal: AbortSignal): Promise<void>
}

export function createParcelLoad(): ParcelLoad {
  let inRounds = 0
  const waiting = new Set<() => void>()
  const expected = new LRUCache<string, true>({ max: maxExpected })
  return {
    expect: (parcelId) => void expected.set(parcelId, true),
    isFresh: (parcelId) => expected.delete(parcelId),
    begin(events) {
      inRounds += events
      return () => {
        inRounds -= events
        for (const look of [...waiting]) look()
      }
    },
    hasRoom: () => inRounds < maxInRounds,
    room: (signal) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (inRounds >= maxInRounds && !signal.aborted) return
          waiting.delete(look)
          signal.removeEventListener('abort', look)
          resolve()
        }
        waiting.add(look)
        signal.addEventListener('abort', look)
        look()
      }),
  }
}
