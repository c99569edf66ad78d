/** Everything of a node that steers deliveries: retries, repeats and cancels them, and tells those that are held of changes. */

import { setTimeout as sleep } from 'node:timers/promises'
import { createSteeringActivities } from '../../activities/index.ts'
import type { Config } from '../config.ts'
import type { DeliveryActivities } from '../contracts/delivery.ts'
import type { SteeringActivities } from '../contracts/steering.ts'
import type { Database } from '../db/database.ts'
import { isDeletedSince } from '../db/deleted-users.ts'
import { countQueued } from '../db/inbox-count.ts'
import { countCarried, sumOf } from '../db/parcel-count.ts'
import { findCarried } from '../db/parcel-list.ts'
import { endLostParcel } from '../db/parcels.ts'
import { openDestinations } from '../delivery-log/delivery-destinations.ts'
import type { DeliveryLog } from '../delivery-log/delivery-log.ts'
import { createBulkSteerings, type BulkSteerings } from '../temporal/bulk-steering.ts'
import type { Temporal } from '../temporal/connection.ts'
import { readDelivery } from '../temporal/delivery-detail.ts'
import { heldQuery, leftParcelOfBefore, waitingQuery } from '../temporal/delivery-query.ts'
import { beforeOldest, oldestFirst } from '../temporal/oldest-first.ts'
import { createCarriedSteering } from '../temporal/parcel-steering.ts'
import { createSteering, type QueuedSteering, type Steering } from '../temporal/steering.ts'
import { visibilityLagMs } from '../temporal/visibility-lag.ts'
import { withoutLimit } from '../within.ts'
import type { DestinationQuestions } from './destination-questions.ts'

export interface SteeringServices {
  steering: Steering
  bulkSteerings: BulkSteerings
  activities: SteeringActivities
}

export interface SteeringServicesDependencies {
  config: Config
  database: Database
  temporal: Temporal
  queuedSteering: QueuedSteering
  deliveryLog: DeliveryLog
  readDestination: DeliveryActivities['readDestination']
}

export function composeSteering(
  dependencies: SteeringServicesDependencies,
  destinations: DestinationQuestions,
): SteeringServices {
  const { config, database, temporal, queuedSteering, deliveryLog, readDestination } = dependencies
  const { paused, nameOfPaused, findTarget } = destinations
  const carried = createCarriedSteering({
    temporal,
    find: (id) => findCarried(database, id),
    endLost: (id) => endLostParcel(database, id),
    nameOfPaused,
  })
  const steering = createSteering({
    temporal,
    findTarget,
    nameOfPaused,
    openDestinations: async (id) => openDestinations(await deliveryLog.read(id, withoutLimit)),
    isDeletedSince: (...asked) => isDeletedSince(database, ...asked),
    retry: config.retry,
    queued: queuedSteering,
    carried,
  })
  const bulkSteerings = createBulkSteerings({
    temporal,
    pausedDestinations: paused,
    countCarried: async (filter) => sumOf(await countCarried(database, { ...filter, paused: paused() })),
    countQueued: (filter) => countQueued(database, filter),
  })
  const activities = createSteeringActivities({
    database,
    steering,
    tellParcel: carried.tell,
    pausedDestinations: paused,
    readDestination,
    waitingQuery,
    heldQuery: (destinationId) => heldQuery(destinationId, without(destinationId, paused())),
    leftParcelOfBefore,
    oldestFirst: (...range) => oldestFirst(temporal, ...range),
    beforeOldest: (...range) => beforeOldest(temporal, ...range),
    untilListed: () => sleep(visibilityLagMs),
    acceptedAt: async (deliveryId) => (await readDelivery(temporal, deliveryId, () => false))?.input?.acceptedAt,
  })
  return { steering, bulkSteerings, activities }
}

const without = (id: string, ids: readonly string[]): string[] => ids.filter((other) => other !== id)
