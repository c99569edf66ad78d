import type { PullGuard } from '../../audiences/pull-http.ts'
import type { AudienceStore } from '../../db/audiences.ts'
import type { Database } from '../../db/database.ts'
import { AppError } from '../../errors.ts'
import { requestSync, type SyncRequest } from '../../db/audiences-syncs.ts'
import { runRequestedSync } from '../../temporal/audience-syncs.ts'
import type { Temporal } from '../../temporal/connection.ts'

export interface AudienceRouteDependencies {
  database: Database
  temporal: Temporal
  audiences: AudienceStore
  /** Which addresses a membership may be fetched from, and how. */
  pullGuard: PullGuard
}

const retryAfterSeconds = 10

/** Puts a sync into the queue and sees to it that it is run.
 *  @throws AppError unavailable when Temporal is away; the sync then waits in the database for the next that is asked for */
export async function startSync(
  { database, temporal }: AudienceRouteDependencies,
  request: SyncRequest,
): Promise<{ syncId: string }> {
  const syncId = await requestSync(database, request)
  try {
    await runRequestedSync(temporal, request.audienceId)
  } catch (error) {
    throw new AppError('unavailable', `${syncId} waits: Temporal does not answer. Ask for a sync again later.`, {
      retryAfterSeconds,
      cause: error,
    })
  }
  return { syncId }
}
