/** Everything of a node that carries deliveries, shows them and steers them. */

import type { Registry } from 'prom-client'
import { runBacklog } from '../backlog.ts'
import type { Config } from '../config.ts'
import type { DeliveryActivities } from '../contracts/delivery.ts'
import type { ParcelActivities } from '../contracts/parcels.ts'
import type { SteeringActivities } from '../contracts/steering.ts'
import type { Database } from '../db/database.ts'
import { openRechecks } from '../db/destination-rechecks.ts'
import { readDownEndpoints } from '../db/endpoint-states.ts'
import { noteNoPlain } from '../db/id-hashing.ts'
import { createDeliveryLog, type DeliveryLog } from '../delivery-log/delivery-log.ts'
import { createSteerableCounts, type SteerableCounts } from '../delivery-log/steerable.ts'
import type { Logger } from '../logger.ts'
import { measureState } from '../observation/state-metrics.ts'
import type { Mapper } from '../mapping/mapper.ts'
import type { Settings } from '../settings/settings.ts'
import type { BulkSteerings } from '../temporal/bulk-steering.ts'
import type { Temporal } from '../temporal/connection.ts'
import { countPlain } from '../temporal/count-plain.ts'
import { createDeliveries } from '../temporal/deliveries.ts'
import { keepRecheckRunning } from '../temporal/recheck.ts'
import { knownWorkflows } from '../temporal/start-parcel.ts'
import type { QueuedSteering, Steering } from '../temporal/steering.ts'
import { composeAttempts, type AttemptServicesDependencies } from './compose-attempts.ts'
import type { GateServices } from './compose-gate.ts'
import { composeSteering } from './compose-steering.ts'
import { destinationQuestions, type DestinationQuestions } from './destination-questions.ts'

/** Changed destinations that are looked at together. */
const recheckBatch = 100

/** Milliseconds between two looks for deliveries of an earlier version. */
const lookForPlainMs = 600_000

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

export interface DeliveryServicesDependencies extends AttemptServicesDependencies, Pick<GateServices, 'boundsReason'> {
  config: Config
  mapper: Mapper
  queuedSteering: QueuedSteering
}

export function composeDeliveries(dependencies: DeliveryServicesDependencies): DeliveryServices {
  const { settings, gate } = dependencies
  const destinations = destinationQuestions(settings, gate)
  const deliveryLog = composeDeliveryLog(dependencies, destinations)
  measure(dependencies, destinations, deliveryLog)
  const attempts = composeAttempts(dependencies, destinations)
  const readDestination = (id: string) => attempts.activities.readDestination(id)
  const { activities, ...steerings } = composeSteering({ ...dependencies, deliveryLog, readDestination }, destinations)
  const backlogs = runBacklogs(dependencies)
  return {
    activities: { ...attempts.activities, ...activities },
    ...steerings,
    deliveryLog,
    steerableCounts: composeSteerableCounts(dependencies, destinations, deliveryLog),
    onDestinationChanged: backlogs.onDestinationChanged,
    async stop() {
      await backlogs.stop()
      await attempts.stop()
    },
  }
}

const composeDeliveryLog = (
  { database, temporal, settings, mapper, boundsReason }: DeliveryServicesDependencies,
  { paused }: DestinationQuestions,
): DeliveryLog =>
  createDeliveryLog({
    database,
    temporal,
    deliveries: createDeliveries(temporal, paused),
    pausedDestinations: paused,
    boundsReason,
    findDestination: settings.destination,
    mapper,
  })

const composeSteerableCounts = (
  { temporal }: { temporal: Temporal },
  { nameOfPaused, findTarget }: DestinationQuestions,
  log: DeliveryLog,
): SteerableCounts =>
  createSteerableCounts({
    log,
    isPaused: (id) => nameOfPaused(id) !== undefined,
    isLeft: (id) => findTarget(id) !== undefined,
    known: (ids) => knownWorkflows(temporal, ids),
  })

function measure(
  { database, registry, settings }: { database: Database; registry: Registry; settings: Settings },
  { allDownAmong, downDestinations }: DestinationQuestions,
  deliveryLog: DeliveryLog,
): void {
  measureState({
    database,
    registry,
    countDeliveries: () => deliveryLog.countOpen(async () => allDownAmong(new Set(await readDownEndpoints(database)))),
    downDestinations,
    settingsVersion: settings.version,
  })
}

/** Work that waits in database and Temporal until it could be done. */
function runBacklogs({ database, temporal, logger }: { database: Database; temporal: Temporal; logger: Logger }) {
  const rechecks = runBacklog({
    waiting: () => openRechecks(database, recheckBatch),
    handle: (id) => keepRecheckRunning(temporal, id),
    failure: 'destination.waiting_not_told',
    logger,
  })
  const plainNames = runBacklog({
    waiting: async () => (temporal.names.mayHavePlainLeft() && (await countPlain(temporal)) === 0 ? ['none'] : []),
    async handle() {
      await noteNoPlain(database)
      temporal.names.noteNoPlain()
    },
    failure: 'names.not_looked_for',
    pauseMs: lookForPlainMs,
    logger,
  })
  return {
    onDestinationChanged: rechecks.wake,
    stop: () => Promise.all([rechecks.stop(), plainNames.stop()]),
  }
}
