/** What a node needs for audiences, put together: the activities of their syncs, and what the API uses. */

import type { Registry } from 'prom-client'
import { createAudienceActivities } from '../../activities/index.ts'
import { createLiveTraffic, type LiveTraffic } from '../audiences/live-traffic.ts'
import { createAudienceMetrics } from '../audiences/metrics.ts'
import type { PullGuard } from '../audiences/pull-http.ts'
import type { AudienceActivities } from '../contracts/audience-sync.ts'
import type { RetrySchedule } from '../contracts/delivery.ts'
import { createAudienceStore, type AudienceStore } from '../db/audiences.ts'
import { audiencesThatWait } from '../db/audiences-syncs.ts'
import type { Database } from '../db/database.ts'
import { createConnect } from '../delivery/connect.ts'
import type { Gate } from '../delivery/gate.ts'
import type { AddressGuard } from '../delivery/guard-address.ts'
import type { Sender } from '../delivery/send.ts'
import type { Suppression } from '../deletions/suppression.ts'
import type { Logger } from '../logger.ts'
import type { Mapper } from '../mapping/mapper.ts'
import type { AttemptRecorder } from '../observation/attempts.ts'
import type { SecretBox } from '../secrets.ts'
import type { Settings } from '../settings/settings.ts'
import { runBacklog } from '../backlog.ts'
import { deleteSchedule } from '../temporal/audience-schedules.ts'
import { deliveryState, endDelivery, runRequestedSync } from '../temporal/audience-syncs.ts'
import type { Temporal } from '../temporal/connection.ts'
import { startDelivery } from '../temporal/start-delivery.ts'
import { createSyncCursors } from '../temporal/sync-cursors.ts'

/** Longest that connecting to the server of a membership may take, in milliseconds. */
const pullConnectMs = 15_000

/** Audiences whose syncs are started at a time. */
const batchSize = 20

export interface AudienceServices {
  activities: AudienceActivities
  audiences: AudienceStore
  pullGuard: PullGuard
  /** To be called for live events: syncs step back while there are any. */
  liveTraffic: LiveTraffic
  /** To be called when a sync was requested: it is started now, or as soon as Temporal answers. */
  onSyncRequested: () => void
  stop(): Promise<void>
}

export function composeAudiences(dependencies: {
  database: Database
  secrets: SecretBox
  settings: Settings
  mapper: Mapper
  suppression: Suppression
  guard: AddressGuard
  sender: Sender
  gate: Gate
  temporal: Temporal
  retry: RetrySchedule
  recorder: Pick<AttemptRecorder, 'see'>
  registry: Registry
  logger: Logger
}): AudienceServices {
  const { database, secrets, settings, mapper, suppression, guard, sender, gate, temporal, retry } = dependencies
  const { recorder, registry, logger } = dependencies
  const audiences = createAudienceStore(database, secrets)
  const pullGuard: PullGuard = { ...guard, connect: createConnect({ guard })(pullConnectMs) }
  const liveTraffic = createLiveTraffic()
  const activities = createAudienceActivities({
    liveTraffic,
    // Their statements take whole ranges of a membership.
    database: database.patient,
    audiences,
    guard: pullGuard,
    findDestination: settings.destination,
    mapper,
    sender,
    gate,
    observe: recorder.see,
    suppression,
    retry,
    cursors: createSyncCursors(temporal.messages),
    startDelivery: (input, deliveryId) => startDelivery(temporal, input, { deliveryId }),
    deliveryState: (deliveryId) => deliveryState(temporal, deliveryId),
    endDelivery: (deliveryId, reason) => endDelivery(temporal, deliveryId, reason),
    deleteSchedule: (audienceId) => deleteSchedule(temporal, audienceId),
    metrics: createAudienceMetrics(registry),
    logger,
  })
  const requestedSyncs = runBacklog({
    waiting: () => audiencesThatWait(database, batchSize),
    handle: (audienceId) => runRequestedSync(temporal, audienceId),
    failure: 'audience.sync_not_started',
    logger,
  })
  return {
    activities,
    audiences,
    pullGuard,
    liveTraffic,
    onSyncRequested: requestedSyncs.wake,
    stop: () => requestedSyncs.stop(),
  }
}
