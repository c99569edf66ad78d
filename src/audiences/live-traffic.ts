/** Live events go first: while there are any, syncs leave them the machine. */

/** How long after an event the next one is still expected, in milliseconds. */
const memoryMs = 1_000

/** Identify calls a second of one sync to one destination beside live events. */
export const callsBesideLiveEvents = 400

export interface LiveTraffic {
  /** An event came in. */
  note(): void
  isPresent(): boolean
}

export function createLiveTraffic(): LiveTraffic {
  let lastAt = -Infinity
  return {
    note() {
      lastAt = performance.now()
    },
    isPresent: () => performance.now() - lastAt < memoryMs,
  }
}
