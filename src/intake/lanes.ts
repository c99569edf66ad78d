/** The lanes of the inbox, and how each is drained. */

import type { DeliveryTarget } from '../contracts/delivery.ts'
import type { DrainerDependencies } from './drainer.ts'
import type { StartPace } from './start-pace.ts'

type LaneSettings = Pick<DrainerDependencies, 'lane' | 'batchSize' | 'limit' | 'restMs' | 'isBehind'>

/** Rest after a start whose endpoints take no attempt, as a multiple of the time that the start took: what Temporal has to
 *  do for it, now and when the attempt comes back, then takes a small share of its time, whatever its size. */
const restPerStart = 7

/** Events that came when Temporal was away, or faster than it takes them. */
export const promptLane = (pace: StartPace): LaneSettings => ({
  lane: 'prompt',
  batchSize: 50,
  limit: () => pace.limit(),
  restMs: () => 0,
  isBehind: () => false,
})

/** Events whose endpoints hang or have more to do than they can: they take what the others leave, until an endpoint has a
 *  turn again. */
export const deferredLane = (isShut: (targets: readonly DeliveryTarget[]) => boolean): LaneSettings => ({
  lane: 'deferred',
  batchSize: 10,
  limit: () => 1,
  // Those whose endpoints have turns again do not wait for the rests of others.
  isBehind: ({ targets }) => isShut(targets),
  restMs: ({ targets }, startMs) => (isShut(targets) ? restPerStart * startMs : 0),
})
