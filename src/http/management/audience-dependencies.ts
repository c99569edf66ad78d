import type { LiveTraffic } from '../../audiences/live-traffic.ts'
import type { PullGuard } from '../../audiences/pull-http.ts'
import type { AudienceStore } from '../../db/audiences.ts'
import type { Database } from '../../db/database.ts'
import { requestSync, type SyncRequest } from '../../db/audiences-syncs.ts'
import type { Temporal } from '../../temporal/connection.ts'
import type { PartLimits } from './part-limits.ts'

export interface AudienceRouteDependencies {
  database: Database
  temporal: Temporal
  audiences: AudienceStore
  partLimits: Pick<PartLimits, 'whilePresent'>
  /** Which addresses a membership may be fetched from, and how. */
  pullGuard: PullGuard
  /** To be let in between the groups of a membership. */
  liveTraffic: Pick<LiveTraffic, 'inTurn'>
  /** To be called when a sync waits in the database. */
  onSyncRequested: () => void
}

/** Puts a sync into the queue; it runs once Temporal takes it. */
export async function startSync(
  { database, onSyncRequested }: AudienceRouteDependencies,
  request: SyncRequest,
): Promise<{ syncId: string }> {
  const syncId = await requestSync(database, request)
  onSyncRequested()
  return { syncId }
}
