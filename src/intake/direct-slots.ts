/** Which events may go to Temporal while their caller waits: a few at a time, so that a source that floods fills the
 *  inbox and not the way of the others; and none while Temporal does not take them. */

import { isRefusedForGood } from '../temporal/grpc-errors.ts'

/** Starts under way at a time, in all and of one source. */
const maxInFlight = 32
export const maxInFlightPerSource = 8

/** How long a source that found no slot stays with the inbox, in milliseconds: its events then start in their order, and
 *  a flood is left to the drainer alone. */
const overflowMs = 500

/** After a start that failed, events go to the inbox until the drainer gets one started, in milliseconds at most: longer
 *  than a round of the drainer takes, so that no caller waits for what it finds out. */
const restMs = 5_000

/** How long it is believed that Temporal takes events because it took one, in milliseconds. */
const provenMs = 2_000

export interface DirectSlots {
  /** Takes slots for `count` events of a source, all or none. */
  tryTake(sourceId: string, count: number): boolean
  /** Takes slots for events that just came in; those of a source that found none are left to the inbox for a while. */
  tryPass(sourceId: string, count: number): boolean
  giveBack(sourceId: string, count: number): void
  /** Whether Temporal did not take the last event that it was given. */
  isResting(): boolean
  /** Whether Temporal took an event a moment ago, and none in vain since. */
  isProven(): boolean
  /** Watches starts, whoever makes them: one that fails closes the direct way, one that succeeds opens it. */
  watch<Input, Result>(start: (input: Input) => Promise<Result>): (input: Input) => Promise<Result>
}

export function createDirectSlots(): DirectSlots {
  const taken = new Map<string, number>()
  const overflowUntil = new Map<string, number>()
  let inFlight = 0
  let failing = false
  let restUntil = -Infinity
  let takenAt = -Infinity

  /** After a rest without news one request at a time finds out. */
  const limit = (): number => (!failing ? maxInFlight : performance.now() < restUntil || inFlight > 0 ? 0 : maxInFlight)

  const slots: DirectSlots = {
    tryTake(sourceId, count) {
      const ofSource = taken.get(sourceId) ?? 0
      if (inFlight + count > limit() || ofSource + count > maxInFlightPerSource) return false
      inFlight += count
      taken.set(sourceId, ofSource + count)
      return true
    },
    tryPass(sourceId, count) {
      const now = performance.now()
      if (now >= (overflowUntil.get(sourceId) ?? 0) && slots.tryTake(sourceId, count)) {
        overflowUntil.delete(sourceId)
        return true
      }
      overflowUntil.set(sourceId, now + overflowMs)
      return false
    },
    giveBack(sourceId, count) {
      inFlight -= count
      const left = (taken.get(sourceId) ?? 0) - count
      if (left > 0) taken.set(sourceId, left)
      else taken.delete(sourceId)
    },
    isResting: () => failing,
    isProven: () => !failing && performance.now() - takenAt < provenMs,
    watch: (start) => async (input) => {
      try {
        const result = await start(input)
        failing = false
        takenAt = performance.now()
        return result
      } catch (error) {
        // A refusal for good says nothing of the next event.
        if (!isRefusedForGood(error)) {
          failing = true
          restUntil = performance.now() + restMs
        }
        throw error
      }
    },
  }
  return slots
}
