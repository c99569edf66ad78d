/** Waiting while a destination is paused. */

import { condition } from '@temporalio/workflow'
import type { DestinationState } from '../src/contracts/delivery.ts'
import { readDestination } from './activities.ts'
import type { Steering } from './steering.ts'

/** A wake-up that crosses the beginning of the wait is lost, so that the destination is read again after this time. */
const firstRereadMs = 30_000

/** The pause between rereads doubles up to this: thousands of held deliveries must not keep the server busy. */
const longestRereadMs = 8 * 60_000

/** Resolves with the state of the destination once it is no longer paused. */
export async function untilResumed(destinationId: string, steering: Steering): Promise<DestinationState> {
  let changed = false
  const stopListening = steering.onDestinationChanged(destinationId, () => (changed = true))
  try {
    for (let rereadMs = firstRereadMs; ; rereadMs = Math.min(2 * rereadMs, longestRereadMs)) {
      await condition(() => changed, rereadMs)
      changed = false
      const state = await readDestination(destinationId)
      if (state.kind !== 'paused') return state
    }
  } finally {
    stopListening()
  }
}
