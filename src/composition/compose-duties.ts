/** What nodes that deliver look after unasked: lost workflows, and what is too old to be kept. */

import { runBacklog } from '../backlog.ts'
import type { Config } from '../config.ts'
import { audiencesThatSync } from '../db/audiences-syncs.ts'
import type { Database } from '../db/database.ts'
import { endLostParcel, openAmong } from '../db/parcels.ts'
import { expireUserKeys } from '../deletions/expire-user-keys.ts'
import { forgetSettled } from '../intake/forget-settled.ts'
import type { Logger } from '../logger.ts'
import { maxRetryWindowHours } from '../schemas/retry-options.ts'
import { keepSyncRunning } from '../temporal/audience-syncs.ts'
import type { Temporal } from '../temporal/connection.ts'
import { terminatedParcels } from '../temporal/parcel-steering.ts'
import { isUnderWaySince } from '../temporal/under-way-since.ts'

/** Milliseconds between two looks for parcels that an operator terminated. */
const lookForEndsMs = 10_000

/** Audiences whose syncs are looked at at a time, and milliseconds between two looks for syncs whose workflow Temporal has lost. */
const syncsTogether = 20
const lookForLostSyncsMs = 5_000

export interface Duties {
  stop(): Promise<void>
}

export function composeDuties(dependencies: {
  config: Pick<Config, 'retentionMs' | 'retry'>
  database: Database
  temporal: Temporal
  logger: Logger
}): Duties {
  const { config, database, temporal, logger } = dependencies
  const parts = [
    runBacklog({
      waiting: async () => openAmong(database, await terminatedParcels(temporal)),
      handle: (id) => endLostParcel(database, id),
      failure: 'parcel.ends_not_noted',
      pauseMs: lookForEndsMs,
      logger,
    }),
    runBacklog({
      waiting: () => audiencesThatSync(database, syncsTogether),
      handle: (audienceId) => keepSyncRunning(temporal, audienceId),
      failure: 'audience.sync_not_kept_running',
      pauseMs: lookForLostSyncsMs,
      logger,
    }),
    forgetSettled(database, config.retentionMs, logger),
    expireUserKeys({
      database,
      isUnderWaySince: (moment) => isUnderWaySince(temporal, moment),
      retentionMs: config.retentionMs,
      windowMs: Math.max(config.retry.windowMs, maxRetryWindowHours * 3_600_000),
      logger,
    }),
  ]
  return { stop: async () => void (await Promise.all(parts.map((part) => part.stop()))) }
}
