/** What a node does for alerts: judges, and has each change told. */

import { createAlertActivities, type AlertDependencies } from '../../activities/index.ts'
import type { AlertActivities } from '../contracts/alerts.ts'
import { changesToTell, judgeAlerts, markHanded, removeOldAlerts } from '../db/alerts.ts'
import { keepLooking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'
import { startTelling } from '../temporal/alerts.ts'
import type { Temporal } from '../temporal/connection.ts'

/** Milliseconds between two looks, and changes handed to Temporal at a time. */
const lookMs = 5_000
const batchSize = 100

/** Milliseconds between two removals of old alerts. */
const removalMs = 3_600_000

export interface AlertServices {
  activities: AlertActivities
  /** Looks for what is to be told, until it is stopped. */
  watch: () => { stop(): Promise<void> }
}

export function composeAlerts(dependencies: AlertDependencies & { temporal: Temporal; logger: Logger }): AlertServices {
  const { database, temporal, logger } = dependencies
  const look = async (): Promise<void> => {
    await judgeAlerts(database)
    for (const change of await changesToTell(database, batchSize)) {
      await startTelling(temporal, change)
      await markHanded(database, change)
    }
  }
  return {
    activities: createAlertActivities(dependencies),
    watch() {
      const parts = [
        keepLooking({ look, failure: 'alert.not_told', pauseMs: lookMs, logger }),
        keepLooking({
          look: () => removeOldAlerts(database),
          failure: 'alert.old_not_removed',
          pauseMs: removalMs,
          logger,
        }),
      ]
      return { stop: async () => void (await Promise.all(parts.map((part) => part.stop()))) }
    },
  }
}
