/** Everything of a node that makes attempts, and tells of them. */

import type { Registry } from 'prom-client'
import {
  createDeliveryActivities,
  createParcelActivities,
  type AttemptDependencies,
  type AttemptObservation,
} from '../../activities/index.ts'
import type { DeliveryActivities } from '../contracts/delivery.ts'
import type { ParcelActivities } from '../contracts/parcels.ts'
import type { Database } from '../db/database.ts'
import { leaveLines } from '../db/user-lines.ts'
import type { Suppression } from '../deletions/suppression.ts'
import { keepLateAttempts } from '../delivery-log/late-attempts.ts'
import type { Sender } from '../delivery/send.ts'
import { watchStandstills } from '../delivery/standstills.ts'
import { watchUnreported } from '../delivery/unreported-attempts.ts'
import { createUnlessMade } from '../delivery/unless-made.ts'
import type { Logger } from '../logger.ts'
import type { Mapper } from '../mapping/mapper.ts'
import { measureAttempts } from '../observation/attempt-metrics.ts'
import type { AttemptRecorder } from '../observation/attempts.ts'
import { tellDownEndpoints } from '../observation/down-endpoints.ts'
import type { Settings } from '../settings/settings.ts'
import type { Temporal } from '../temporal/connection.ts'
import { readPendingAttempts } from '../temporal/delivery-detail.ts'
import { readPendingRecord } from '../temporal/parcel-detail.ts'
import { startDelivery } from '../temporal/start-delivery.ts'
import type { Tracing } from '../tracing/port.ts'
import type { GateServices } from './compose-gate.ts'
import type { DestinationQuestions } from './destination-questions.ts'

export interface AttemptServices {
  activities: DeliveryActivities & ParcelActivities
  stop(): Promise<void>
}

export interface AttemptServicesDependencies extends Pick<GateServices, 'gate' | 'parcelLoad' | 'recovery'> {
  database: Database
  settings: Settings
  /** Counts what it cannot map. */
  sendingMapper: Mapper
  suppression: Suppression
  sender: Sender
  temporal: Temporal
  registry: Registry
  /** Stopped with the attempts. */
  recorder: AttemptRecorder
  /** Told that events gave up places in lines of users: those behind them go. */
  onLineMoved: () => void
  /** Undefined: off. */
  tracing: Tracing | undefined
  logger: Logger
}

export function composeAttempts(
  dependencies: AttemptServicesDependencies,
  destinations: DestinationQuestions,
): AttemptServices {
  const { database, registry, recorder, logger } = dependencies
  const measure = measureAttempts(registry)
  const downEndpoints = tellDownEndpoints({
    database,
    gate: destinations,
    endpoints: destinations.endpoints,
    registry,
    logger,
  })
  const observe = (observation: AttemptObservation): void => {
    measure(observation)
    recorder.observe(observation)
  }
  const standstills = watchStandstills()
  const late = keepLateAttempts({ database, names: dependencies.temporal.names, logger })
  const unreported = watchUnreported(standstills, late.keep)
  return {
    activities: composeActivities(dependencies, {
      observe,
      standstills,
      keepLate: late.keep,
      noteUnreported: unreported.note,
    }),
    async stop() {
      unreported.stop()
      standstills.stop()
      await Promise.all([recorder.stop(), downEndpoints.stop(), late.stop()])
    },
  }
}

function composeActivities(
  {
    database,
    settings,
    sendingMapper,
    suppression,
    sender,
    temporal,
    gate,
    recovery,
    parcelLoad,
    onLineMoved,
    tracing,
    logger,
  }: AttemptServicesDependencies,
  watching: Pick<AttemptDependencies, 'observe' | 'standstills' | 'keepLate' | 'noteUnreported'>,
): AttemptServices['activities'] {
  const attempting: AttemptDependencies = {
    findDestination: settings.destination,
    catchUp: settings.catchUp,
    mapper: sendingMapper,
    sender,
    openMessage: (sealed) => temporal.messages.openMessage(sealed),
    suppression,
    gate,
    unlessMade: createUnlessMade(),
    recovery,
    ...watching,
    tracing,
    logger,
  }
  return {
    ...createDeliveryActivities({
      ...attempting,
      pendingAttempts: (execution) => readPendingAttempts(temporal, execution),
      async leaveLine(ticket) {
        await leaveLines(database, [ticket])
        onLineMoved()
      },
    }),
    ...createParcelActivities({
      ...attempting,
      database,
      pendingRecord: (...of) => readPendingRecord(temporal, ...of),
      startEvent: async (input, parcel) => void (await startDelivery(temporal, input, { parcel })),
      load: parcelLoad,
      onLineMoved,
    }),
  }
}
