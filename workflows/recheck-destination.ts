/** Tells everybody who waits for a destination that it was resumed, switched off or deleted. */

import { proxyActivities, sleep } from '@temporalio/workflow'
import type { RecheckInput, SteeringActivities } from '../src/contracts/steering.ts'

const { tellWaiting, endRecheck } = proxyActivities<Pick<SteeringActivities, 'tellWaiting' | 'endRecheck'>>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  // Live deliveries go first.
  priority: { priorityKey: 5 },
})

/** Pause until Temporal's lists show deliveries that were held before the change, in milliseconds. */
const firstPauseMs = 500

/** Pause before another look, in milliseconds; it doubles with each. Deliveries that were found to be held just before the change may
 *  come into the lists later: by the time limit of a workflow task with an attempt in it, 20 s, or when Temporal is far behind. */
const secondPauseMs = 10_000

/** Within 3 rounds everybody has come into the lists of a Temporal that keeps up; the last one is made after almost 3 hours. */
const fewestRounds = 3
const mostRounds = 11

export async function recheckDestination({ recheckId }: RecheckInput): Promise<void> {
  for (let round = 0; round < mostRounds; round++) {
    await sleep(round === 0 ? firstPauseMs : secondPauseMs * 2 ** (round - 1))
    const told = await tellWaiting({ recheckId, round })
    if (told === undefined || (told === 0 && round + 1 >= fewestRounds)) break
  }
  await endRecheck({ recheckId })
}
