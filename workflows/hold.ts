/** Waiting while a destination is paused. */

import { CancellationScope, condition, patched } from '@temporalio/workflow'
import type { DestinationState } from '../src/contracts/delivery.ts'
import { readDestination } from './activities.ts'
import { readsOnce } from './change-reads.ts'
import type { InTurn } from './one-at-a-time.ts'
import type { OutcomeReport } from './outcome-attribute.ts'
import type { Steering } from './steering.ts'

/** Name of the patch by which a delivery waits to be told. Deliveries that began to wait before it look at the destination by themselves,
 *  more and more rarely. */
const toldOfChanges = 'held-until-told'
const firstRereadMs = 30_000
const longestRereadMs = 8 * 60_000

/** Pause before another look at the destination, in milliseconds: 12 to 24 hours, so that the deliveries of a pause are spread. Every
 *  change is told; the look only finds what a Temporal that was restored from a backup has forgotten. */
const dailyRereadMs = (): number => (12 + 12 * Math.random()) * 60 * 60_000

export interface Hold {
  /** Resolves with the state of the destination once it is no longer paused.
   *  @param since  changes that were told when it was last known to be paused; undefined: it is read first
   *  @param onPaused  called each time that it is found to be paused and the wait for a change begins */
  untilResumed(since: number | undefined, onPaused?: () => void): Promise<DestinationState>
  /** Whether nothing is under way but the wait for a change. */
  isResting(): boolean
}

/** The hold of one destination.
 *  @param inTurn  of its workflow
 *  @param onResting  called each time that the wait begins */
export function createHold(destinationId: string, steering: Steering, inTurn: InTurn, onResting: () => void): Hold {
  let isResting = false
  return {
    isResting: () => isResting,
    async untilResumed(since, onPaused) {
      let changed = false
      const stopListening = steering.onDestinationChanged(destinationId, () => {
        changed = true
        isResting = false
      })
      try {
        for (let pollMs = firstRereadMs; ; pollMs = Math.min(2 * pollMs, longestRereadMs)) {
          const isTold = readsOnce() || patched(toldOfChanges)
          if (pollMs === firstRereadMs && isTold && steering.changes(destinationId) !== since) changed = true
          isResting = isTold && !changed
          if (isResting) {
            onPaused?.()
            onResting()
          }
          await condition(() => changed, isTold ? dailyRereadMs() : pollMs)
          isResting = false
          changed = false
          const state = await readDestination(inTurn, destinationId)
          if (state.kind !== 'paused') return state
        }
      } finally {
        isResting = false
        stopListening()
      }
    },
  }
}

/** Whether a delivery that begins with how its destinations stood, in its parcel or in an earlier run, tells that one holds it only when
 *  that was read anew: it may have been resumed or switched off since. Deliveries that began before this was so tell it at once. */
export const tellsHoldOnceRead = (): boolean => patched('told-as-held-once-read')

/** One wait for all endpoints of a destination, until it is no longer paused. */
export function waitTogether(
  hold: Hold,
  destinationId: string,
  outcomes: Pick<OutcomeReport, 'report'>,
): (since: number | undefined) => Promise<DestinationState> {
  // The wait runs in the scope of the destination: an endpoint that is settled meanwhile must not end the wait of the others.
  const scope = CancellationScope.current()
  let resumption: Promise<DestinationState> | undefined
  return async (since) => {
    const tell = (): void => outcomes.report(destinationId, 'held')
    const isToBeRead = since === undefined && tellsHoldOnceRead()
    if (!isToBeRead) tell()
    resumption ??= scope
      .run(() => hold.untilResumed(since, isToBeRead ? tell : undefined))
      .finally(() => (resumption = undefined))
    const state = await resumption
    if (state.kind !== 'discarded') outcomes.report(destinationId, 'retrying')
    return state
  }
}
