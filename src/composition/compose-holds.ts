/** What a node does for destinations that are held while they fail: begins holds, and has them probed. */

import { createHoldActivities, type HoldDependencies } from '../../activities/index.ts'
import { runBacklog } from '../backlog.ts'
import type { HoldActivities } from '../contracts/holds.ts'
import { destinationsToKeepHeld } from '../db/destination-holds.ts'
import type { Logger } from '../logger.ts'
import type { Settings } from '../settings/settings.ts'
import type { Temporal } from '../temporal/connection.ts'
import { keepHoldRunning } from '../temporal/holds.ts'

/** Destinations looked at at a time, and milliseconds between two looks. */
const batchSize = 100
const lookMs = 5_000

export interface HoldServices {
  activities: HoldActivities
  /** Looks for destinations that fail, until it is stopped. */
  watch: () => { stop(): Promise<void> }
}

export function composeHolds(
  dependencies: Omit<HoldDependencies, 'findDestination' | 'catchUp'> & {
    settings: Settings
    temporal: Temporal
    logger: Logger
  },
): HoldServices {
  const { database, settings, temporal, logger } = dependencies
  return {
    activities: createHoldActivities({
      ...dependencies,
      findDestination: settings.destination,
      catchUp: settings.catchUp,
    }),
    watch: () =>
      runBacklog({
        waiting: () => destinationsToKeepHeld(database, batchSize),
        handle: (id) => keepHoldRunning(temporal, id),
        failure: 'destination.hold_not_kept_running',
        pauseMs: lookMs,
        logger,
      }),
  }
}
