/** Everything of a node that carries deliveries, shows them and steers them. */

import type { Registry } from 'prom-client'
import {
  createDeliveryActivities,
  createParcelActivities,
  createSteeringActivities,
  type AttemptObservation,
} from '../../activities/index.ts'
import type { Config } from '../config.ts'
import type { DeliveryActivities } from '../contracts/delivery.ts'
import type { ParcelActivities } from '../contracts/parcels.ts'
import type { SteeringActivities } from '../contracts/steering.ts'
import type { Database } from '../db/database.ts'
import { isDeletedSince } from '../db/deleted-users.ts'
import { openRechecks } from '../db/destination-rechecks.ts'
import { countCarried, sumOf } from '../db/parcel-count.ts'
import { findCarried } from '../db/parcel-list.ts'
import { endLostParcel, openAmong } from '../db/parcels.ts'
import type { Suppression } from '../deletions/suppression.ts'
import { openDestinations } from '../delivery-log/delivery-destinations.ts'
import { createDeliveryLog, type DeliveryLog } from '../delivery-log/delivery-log.ts'
import { createSteerableCounts, type SteerableCounts } from '../delivery-log/steerable.ts'
import { gatedEndpoint, type Gate } from '../delivery/gate.ts'
import type { Sender } from '../delivery/send.ts'
import { createUnlessTaken } from '../delivery/taken.ts'
import type { Logger } from '../logger.ts'
import { measureAttempts } from '../observation/attempt-metrics.ts'
import { createAttemptRecorder } from '../observation/attempts.ts'
import { tellDownEndpoints } from '../observation/down-endpoints.ts'
import { measureState } from '../observation/state-metrics.ts'
import { deliveryTarget } from '../settings/delivery-target.ts'
import type { Settings } from '../settings/settings.ts'
import { runBacklog } from '../backlog.ts'
import { createBulkSteerings, type BulkSteerings } from '../temporal/bulk-steering.ts'
import type { Temporal } from '../temporal/connection.ts'
import { createDeliveries } from '../temporal/deliveries.ts'
import { readPendingAttempts } from '../temporal/delivery-detail.ts'
import { heldQuery, waitingQuery } from '../temporal/delivery-query.ts'
import { beforeOldest, oldestFirst } from '../temporal/oldest-first.ts'
import { keepRecheckRunning } from '../temporal/recheck.ts'
import { readPendingRecord } from '../temporal/parcel-detail.ts'
import { createCarriedSteering, terminatedParcels } from '../temporal/parcel-steering.ts'
import { startDelivery } from '../temporal/start-delivery.ts'
import { knownWorkflows } from '../temporal/start-parcel.ts'
import { createSteering, type Steering, type QueuedSteering } from '../temporal/steering.ts'
import { withoutLimit } from '../within.ts'
import type { GateServices } from './compose-gate.ts'

/** Changed destinations that are looked at together. */
const recheckBatch = 100

/** Milliseconds between two looks for parcels that an operator terminated. */
const lookForEndsMs = 10_000

export interface DeliveryServices {
  activities: DeliveryActivities & ParcelActivities & SteeringActivities
  steering: Steering
  bulkSteerings: BulkSteerings
  /** To be told that a destination was resumed, switched off or deleted: who waits for it is told now, or as soon as
   *  Temporal answers. */
  onDestinationChanged: () => void
  deliveryLog: DeliveryLog
  steerableCounts: SteerableCounts
  stop(): Promise<void>
}

export interface DeliveryServicesDependencies extends Pick<GateServices, 'gate' | 'parcelLoad'> {
  config: Config
  database: Database
  settings: Settings
  suppression: Suppression
  sender: Sender
  temporal: Temporal
  queuedSteering: QueuedSteering
  registry: Registry
  logger: Logger
}

export function composeDeliveries(dependencies: DeliveryServicesDependencies): DeliveryServices {
  const { config, database, settings, suppression, sender, temporal, queuedSteering } = dependencies
  const { gate, parcelLoad, registry, logger } = dependencies
  const pausedDestinations = (): string[] =>
    [...settings.destinations()].filter(({ paused }) => paused).map(({ id }) => id)
  const findTarget = (id: string) => {
    const destination = settings.destination(id)
    return destination && deliveryTarget(destination)
  }
  const nameOfPaused = (id: string): string | undefined => {
    const destination = settings.destination(id)
    return destination?.paused === true ? destination.name : undefined
  }
  const carriedSteering = createCarriedSteering({
    temporal,
    find: (id) => findCarried(database, id),
    endLost: (id) => endLostParcel(database, id),
    nameOfPaused,
  })
  const deliveryLog = createDeliveryLog({
    database,
    temporal,
    deliveries: createDeliveries(temporal, pausedDestinations),
    pausedDestinations,
    findDestination: settings.destination,
  })
  const steering = createSteering({
    temporal,
    findTarget,
    nameOfPaused,
    openDestinations: async (id) => openDestinations(await deliveryLog.read(id, withoutLimit)),
    isDeletedSince: (...asked) => isDeletedSince(database, ...asked),
    retry: config.retry,
    queued: queuedSteering,
    carried: carriedSteering,
  })
  const recorder = createAttemptRecorder(database, logger)
  const measureAttempt = measureAttempts(registry)
  measureState({
    database,
    registry,
    countDeliveries: (status) => deliveryLog.count({ status }, withoutLimit),
    downDestinations: () => downDestinations(gate, settings),
    settingsVersion: settings.version,
  })
  const downEndpoints = tellDownEndpoints({
    database,
    gate: { down: () => downNow(gate, settings) },
    endpoints: () => endpointsIn(settings),
    registry,
    logger,
  })
  const attempting = {
    findDestination: settings.destination,
    catchUp: settings.catchUp,
    sender,
    suppression,
    gate,
    unlessTaken: createUnlessTaken(),
    observe: (observation: AttemptObservation) => {
      measureAttempt(observation)
      recorder.observe(observation)
    },
    logger,
  }
  const deliveryActivities = createDeliveryActivities({
    ...attempting,
    pendingAttempts: (execution) => readPendingAttempts(temporal, execution),
  })
  const parcelActivities = createParcelActivities({
    ...attempting,
    database,
    pendingRecord: (...of) => readPendingRecord(temporal, ...of),
    startEvent: async (input, parcel) => void (await startDelivery(temporal, input, { parcel })),
    load: parcelLoad,
  })
  const rechecks = runBacklog({
    waiting: () => openRechecks(database, recheckBatch),
    handle: (id) => keepRecheckRunning(temporal, id),
    failure: 'destination.waiting_not_told',
    logger,
  })
  const endings = runBacklog({
    waiting: async () => openAmong(database, await terminatedParcels(temporal)),
    handle: (id) => endLostParcel(database, id),
    failure: 'parcels.ends_not_noted',
    pauseMs: lookForEndsMs,
    logger,
  })
  return {
    activities: {
      ...deliveryActivities,
      ...parcelActivities,
      ...createSteeringActivities({
        database,
        steering,
        tellParcel: carriedSteering.tell,
        pausedDestinations,
        readDestination: (id) => deliveryActivities.readDestination(id),
        waitingQuery,
        heldQuery: (destinationId) =>
          heldQuery(
            destinationId,
            pausedDestinations().filter((id) => id !== destinationId),
          ),
        oldestFirst: (...range) => oldestFirst(temporal, ...range),
        beforeOldest: (...range) => beforeOldest(temporal, ...range),
      }),
    },
    steering,
    bulkSteerings: createBulkSteerings({
      temporal,
      pausedDestinations,
      countCarried: async (filter) => sumOf(await countCarried(database, { ...filter, paused: pausedDestinations() })),
    }),
    deliveryLog,
    steerableCounts: createSteerableCounts({
      log: deliveryLog,
      isPaused: (id) => nameOfPaused(id) !== undefined,
      isLeft: (id) => findTarget(id) !== undefined,
      known: (ids) => knownWorkflows(temporal, ids),
    }),
    onDestinationChanged: rechecks.wake,
    async stop() {
      await Promise.all([rechecks.stop(), endings.stop()])
      await Promise.all([recorder.stop(), downEndpoints.stop()])
    },
  }
}

/** Those that are down at the addresses that they have now. */
function downNow(gate: Gate, settings: Settings): ReturnType<Gate['down']> {
  const wereDown = new Set(gate.down().map(({ endpointId }) => endpointId))
  if (wereDown.size === 0) return []
  for (const {
    settings: { webhooks },
  } of settings.destinations())
    for (const webhook of webhooks) if (wereDown.has(webhook.id)) gate.forgetMoved(gatedEndpoint(webhook))
  return gate.down()
}

/** Ids of those whose endpoints are all down. */
function downDestinations(gate: Gate, settings: Settings): string[] {
  const down = new Set(downNow(gate, settings).map(({ endpointId }) => endpointId))
  if (down.size === 0) return []
  return [...settings.destinations()]
    .filter(({ settings: { webhooks } }) => webhooks.length > 0 && webhooks.every(({ id }) => down.has(id)))
    .map(({ id }) => id)
}

/** Those that get events. */
const endpointsIn = (settings: Settings): { endpointId: string; destinationId: string }[] =>
  [...settings.destinations()]
    .filter(({ enabled }) => enabled)
    .flatMap(({ id, settings: { webhooks } }) =>
      webhooks.map((webhook) => ({ endpointId: webhook.id, destinationId: id })),
    )
