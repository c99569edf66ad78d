/** Which events may go to Temporal while their caller waits: a few at a time, so that a source that floods fills the
 *  inbox and not the way of the others. */

/** Starts under way at a time, in all and of one source: Temporal's embedded server makes about 200 a second. */
const maxInFlight = 32
const maxInFlightPerSource = 8

/** After a start that failed, events go to the inbox for this time, in milliseconds. */
const restMs = 1_000

export interface DirectSlots {
  /** Takes slots for `count` events of a source, all or none. */
  tryTake(sourceId: string, count: number): boolean
  giveBack(sourceId: string, count: number): void
  /** Temporal did not take an event. */
  rest(): void
}

export function createDirectSlots(): DirectSlots {
  const taken = new Map<string, number>()
  let inFlight = 0
  let restUntil = -Infinity
  return {
    tryTake(sourceId, count) {
      const ofSource = taken.get(sourceId) ?? 0
      if (performance.now() < restUntil) return false
      if (inFlight + count > maxInFlight || ofSource + count > maxInFlightPerSource) return false
      inFlight += count
      taken.set(sourceId, ofSource + count)
      return true
    },
    giveBack(sourceId, count) {
      inFlight -= count
      const left = (taken.get(sourceId) ?? 0) - count
      if (left > 0) taken.set(sourceId, left)
      else taken.delete(sourceId)
    },
    rest() {
      restUntil = performance.now() + restMs
    },
  }
}
