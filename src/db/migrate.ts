import type { Database } from './database.ts'
import { settings } from './migrations/0001-settings.ts'
import { inbox } from './migrations/0002-inbox.ts'
import { deletionRequests } from './migrations/0003-deletion-requests.ts'
import { audiences } from './migrations/0010-audiences.ts'
import { audienceQueue } from './migrations/0011-audience-queue.ts'
import { access } from './migrations/0020-access.ts'
import { attemptStats } from './migrations/0021-attempt-stats.ts'
import { roomForSettlements } from './migrations/0022-room-for-settlements.ts'
import { inboxTurns } from './migrations/0033-inbox-turns.ts'
import { previousWriteKeys } from './migrations/0035-previous-write-keys.ts'
import { deletedUsers } from './migrations/0039-deleted-users.ts'
import { destinationRechecks } from './migrations/0041-destination-rechecks.ts'
import { acknowledgedTraits } from './migrations/0043-acknowledged-traits.ts'
import { settingsChanges } from './migrations/0050-settings-changes.ts'
import { inboxInOrder } from './migrations/0051-inbox-in-order.ts'
import { parcels } from './migrations/0052-parcels.ts'
import { attemptDurations } from './migrations/0053-attempt-durations.ts'
import { downEndpoints } from './migrations/0054-down-endpoints.ts'
import { partlyDelivered } from './migrations/0056-partly-delivered.ts'
import { syncsWithNews } from './migrations/0063-syncs-with-news.ts'
import { turnedAway } from './migrations/0064-turned-away.ts'
import { idHashing } from './migrations/0065-id-hashing.ts'
import { endpointSuccesses } from './migrations/0067-endpoint-successes.ts'
import { differingResults } from './migrations/0068-differing-results.ts'
import { filters } from './migrations/0075-filters.ts'
import { sharedParcels } from './migrations/0080-shared-parcels.ts'
import { mappings } from './migrations/0085-mappings.ts'
import { userKeys } from './migrations/0090-user-keys.ts'
import { holds } from './migrations/0095-holds.ts'
import { endpointOptions } from './migrations/0096-endpoint-options.ts'
import { alerts } from './migrations/0097-alerts.ts'
import { moreAlerts } from './migrations/0098-more-alerts.ts'
import { deletedNames } from './migrations/0099-deleted-names.ts'
import { liftedSuppressions } from './migrations/0102-lifted-suppressions.ts'
import { retryWindows } from './migrations/0103-retry-windows.ts'
import { retryPauses } from './migrations/0107-retry-pauses.ts'
import { lateAttempts } from './migrations/0108-late-attempts.ts'
import { userLines } from './migrations/0109-user-lines.ts'
import { listenRequests } from './migrations/0111-listen-requests.ts'
import { usedUserKeys } from './migrations/0112-used-user-keys.ts'
import { takenAtOnce } from './migrations/0113-taken-at-once.ts'
import { behindInLine } from './migrations/0114-behind-in-line.ts'
import { wakesInOrder } from './migrations/0115-wakes-in-order.ts'
import { slowLatency } from './migrations/0116-slow-latency.ts'
import { cancelledInInbox } from './migrations/0117-cancelled-in-inbox.ts'
import { closedReason } from './migrations/0118-closed-reason.ts'
import { finalFailures } from './migrations/0119-final-failures.ts'
import { endedInInbox } from './migrations/0120-ended-in-inbox.ts'

/** All migrations in order. A released one is never edited; a change is a new one. */
const migrations: readonly { name: string; sql: string }[] = [
  settings,
  inbox,
  deletionRequests,
  audiences,
  audienceQueue,
  access,
  attemptStats,
  roomForSettlements,
  inboxTurns,
  previousWriteKeys,
  deletedUsers,
  destinationRechecks,
  acknowledgedTraits,
  settingsChanges,
  inboxInOrder,
  parcels,
  attemptDurations,
  downEndpoints,
  partlyDelivered,
  syncsWithNews,
  turnedAway,
  idHashing,
  endpointSuccesses,
  differingResults,
  filters,
  sharedParcels,
  mappings,
  userKeys,
  holds,
  endpointOptions,
  alerts,
  moreAlerts,
  deletedNames,
  liftedSuppressions,
  retryWindows,
  retryPauses,
  lateAttempts,
  userLines,
  listenRequests,
  usedUserKeys,
  takenAtOnce,
  behindInLine,
  wakesInOrder,
  slowLatency,
  cancelledInInbox,
  closedReason,
  finalFailures,
  endedInInbox,
]

/** Any number that no other program on the same database uses for its advisory lock. */
const advisoryLock = 7_766_351_001

/** Brings the tables up to date. Several nodes may call it at once: the first migrates, the others wait and find it done.
 *  @returns names of the migrations that this call applied */
export async function migrate(database: Database): Promise<string[]> {
  return database.patient.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock])
    await tx.query(
      `create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())`,
    )
    const rows = await tx.query<{ name: string }>('select name from migrations')
    const applied = new Set(rows.map(({ name }) => name))
    const missing = migrations.filter(({ name }) => !applied.has(name))
    for (const { name, sql } of missing) {
      await tx.query(sql)
      await tx.query('insert into migrations (name) values ($1)', [name])
    }
    return missing.map(({ name }) => name)
  })
}
