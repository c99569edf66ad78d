/** Which events may go to Temporal while their caller waits: a few at a time, so that a source that floods fills the
 *  inbox and not the way of the others; and none while Temporal does not take them. */

import { isRefusedForGood } from '../temporal/grpc-errors.ts'
import type { StartPace } from './start-pace.ts'

/** Starts under way at a time, in all and of one source; in all so many for each that Temporal takes side by side, while it is slow. */
const maxInFlight = 32
const perPlace = 2
export const maxInFlightPerSource = 8

/** Those of them that find out about endpoints of which nothing has come back yet, or lately. */
const maxTrials = 8

/** After a start that failed, events go to the inbox until the drainer gets one started, in milliseconds at most: longer
 *  than a round of the drainer takes, so that no caller waits for what it finds out. */
const restMs = 5_000

/** How long it is believed that Temporal takes events because it took one, in milliseconds. */
const provenMs = 2_000

export type SlotKind = 'usual' | 'trial' | 'stranded'

export interface DirectSlots {
  /** Takes slots for `count` events of a source, all or none.
   *  @param kind  `trial`: they find out about an endpoint; `stranded`: nothing but Temporal can hold them, however slow it is
   *  @returns what gives them back; undefined where there are not enough */
  take(sourceId: string, count: number, kind?: SlotKind): (() => void) | undefined
  /** Whether Temporal did not take the last event that it was given. */
  isResting(): boolean
  /** Whether Temporal took an event a moment ago, and none in vain since. */
  isProven(): boolean
  /** Watches starts, whoever makes them: one that fails closes the direct way, one that succeeds opens it. */
  watch<Args extends unknown[], Result>(start: (...args: Args) => Promise<Result>): (...args: Args) => Promise<Result>
}

/** @param pace  how many starts Temporal takes side by side */
export function createDirectSlots(pace: Pick<StartPace, 'limit'>): DirectSlots {
  const taken = new Map<string, number>()
  let inFlight = 0
  let trials = 0
  let failing = false
  let restUntil = -Infinity
  let takenAt = -Infinity

  /** After a rest without news one request at a time finds out; one that nothing else can hold does so at once. */
  const limit = (kind: SlotKind): number => {
    if (failing && (inFlight > 0 || (performance.now() < restUntil && kind !== 'stranded'))) return 0
    return kind === 'stranded' ? maxInFlight : Math.min(maxInFlight, perPlace * pace.limit())
  }

  const add = (sourceId: string, count: number, isTrial: boolean): void => {
    inFlight += count
    if (isTrial) trials += count
    const ofSource = (taken.get(sourceId) ?? 0) + count
    if (ofSource > 0) taken.set(sourceId, ofSource)
    else taken.delete(sourceId)
  }

  return {
    take(sourceId, count, kind = 'usual') {
      const isTrial = kind === 'trial'
      if (inFlight + count > limit(kind) || (taken.get(sourceId) ?? 0) + count > maxInFlightPerSource) return undefined
      if (isTrial && trials + count > maxTrials) return undefined
      add(sourceId, count, isTrial)
      return () => add(sourceId, -count, isTrial)
    },
    isResting: () => failing,
    isProven: () => !failing && performance.now() - takenAt < provenMs,
    watch:
      (start) =>
      async (...args) => {
        try {
          const result = await start(...args)
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
}
