/** What a node needs for deletion requests, put together: the activity that carries them out, and what the API uses. */

import { createDeletionActivities } from '../../activities/index.ts'
import type { DeletionActivities } from '../contracts/deletions.ts'
import type { DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import { markDeletionRunning, waitingDeletionRequests } from '../db/deletion-requests.ts'
import { openEventsOf } from '../db/parcel-steering.ts'
import { createDeletionRequests, type DeletionRequests } from '../deletions/deletion-requests.ts'
import { createNotifier } from '../deletions/notifier.ts'
import type { Suppression } from '../deletions/suppression.ts'
import type { Logger } from '../logger.ts'
import { deliveryTarget } from '../settings/delivery-target.ts'
import type { Settings } from '../settings/settings.ts'
import { runBacklog } from '../backlog.ts'
import type { Temporal } from '../temporal/connection.ts'
import {
  cancelCarriedOf,
  cancelDeliveriesOf,
  countDeliveriesOf,
  countNotifications,
  hasNotifications,
  startDeletionRequest,
} from '../temporal/deletions.ts'
import { startDelivery } from '../temporal/start-delivery.ts'
import type { Steering } from '../temporal/steering.ts'

/** Requests handed to Temporal at a time. */
const batchSize = 20

export interface DeletionServices {
  activities: DeletionActivities
  deletionRequests: DeletionRequests
  stop(): Promise<void>
}

export function composeDeletions(dependencies: {
  database: Database
  settings: Settings
  suppression: Suppression
  temporal: Temporal
  steering: Steering
  retry: RetrySchedule
  logger: Logger
}): DeletionServices {
  const { database, settings, suppression, temporal, steering, retry, logger } = dependencies
  const targetsOf = (sourceId: string): DeliveryTarget[] =>
    settings.source(sourceId)?.destinations.flatMap((destination) => deliveryTarget(destination) ?? []) ?? []
  const requests = runBacklog({
    waiting: () => waitingDeletionRequests(database, batchSize),
    async handle(id) {
      await startDeletionRequest(temporal, id)
      await markDeletionRunning(database, id)
    },
    failure: 'deletion.not_started',
    logger,
  })
  const deletionRequests = createDeletionRequests({
    database,
    sources: () => new Map([...settings.sources()].map(({ id }) => [id, targetsOf(id).length > 0])),
    countNotifications: (id) => countNotifications(temporal, id),
    async onCreated({ suppress }) {
      requests.wake()
      if (suppress) await suppression.agree()
    },
    onLifted: () => suppression.agree(),
  })
  const activities = createDeletionActivities({
    // Neither the inbox nor memberships have an index by user.
    database: database.patient,
    agree: () => suppression.agree(),
    cancelDeliveries: async (order) => {
      const inParcels = await cancelCarriedOf((limit) => openEventsOf(database, order, limit), steering, order)
      return inParcels + (await cancelDeliveriesOf(temporal, steering, order))
    },
    countDeliveries: (order) => countDeliveriesOf(temporal, order),
    hasNotifications: (id) => hasNotifications(temporal, id),
    hashUser: (userId) => temporal.names.keyOwner(userId),
    notify: createNotifier({
      targetsOf,
      start: (input, deliveryId) => startDelivery(temporal, input, { deliveryId }),
      retry,
    }),
  })
  return {
    activities,
    deletionRequests,
    stop: () => requests.stop(),
  }
}
