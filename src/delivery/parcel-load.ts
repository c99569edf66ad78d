/** How many events of parcels this node has yet to attempt: the next parcel is started when few are left, so that none waits
 *  in Temporal for a worker, and events of a source go out in their order. */

import { LRUCache } from 'lru-cache'

/** Parcels are started while fewer events than this are left of those before: about as many as are attempted while a workflow
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
  /** A parcel's workflow is about to be started for the first time. */
  expect(parcelId: string): void
  /** Whether no round of the parcel was made before, as far as is known: true once for each that was expected. */
  isFresh(parcelId: string): boolean
  /** So many events are about to be attempted. */
  begin(events: number): LoadOfEvents
  /** Whether one more parcel may be started. */
  hasRoom(): boolean
  /** Resolves when there is room for one more parcel, or `signal` aborts. */
  room(signal: AbortSignal): Promise<void>
}

export function createParcelLoad(): ParcelLoad {
  let left = 0
  const waiting = new Set<() => void>()
  const expected = new LRUCache<string, true>({ max: maxExpected })
  const hasRoom = (): boolean => left < maxLeft
  return {
    expect: (parcelId) => void expected.set(parcelId, true),
    isFresh: (parcelId) => expected.delete(parcelId),
    begin(events) {
      let open = events
      left += events
      const lift = (count: number): void => {
        open -= count
        left -= count
        if (hasRoom()) for (const look of [...waiting]) look()
      }
      return { through: () => lift(Math.min(1, open)), end: () => lift(open) }
    },
    hasRoom,
    room: (signal) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!hasRoom() && !signal.aborted) return
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
