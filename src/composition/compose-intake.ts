/** Everything of a node that holds accepted events until Temporal has them. */

import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { DeliveryTarget } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import type { UserKeys } from '../deletions/user-keys.ts'
import { createEventLedger, type EventLedger } from '../intake/event-ledger.ts'
import type { Readiness } from '../intake/inbox-turns.ts'
import { createIntake, type Intake } from '../intake/intake.ts'
import { createKnownParcels } from '../intake/known-parcels.ts'
import { createDirectStarts } from '../intake/start-directly.ts'
import { createQueuedSteering } from '../intake/steer-queued.ts'
import type { Logger } from '../logger.ts'
import type { Temporal } from '../temporal/connection.ts'
import { startDelivery } from '../temporal/start-delivery.ts'
import type { QueuedSteering } from '../temporal/steering.ts'
import type { GateServices } from './compose-gate.ts'
import { composeInbox } from './compose-inbox.ts'
import { composeStarts } from './compose-starts.ts'

export interface IntakeServices {
  intake: Intake
  ledger: EventLedger
  queuedSteering: QueuedSteering
  /** To be called when events gave up places in lines of users: those behind them go. */
  onLineMoved: () => void
  stop(): Promise<void>
}

export interface IntakeServicesDependencies extends Pick<GateServices, 'parcelLoad' | 'readiness'> {
  config: Config
  database: Database
  temporal: Temporal
  userKeys: Pick<UserKeys, 'draft'>
  registry: Registry
  logger: Logger
}

export function composeIntake(dependencies: IntakeServicesDependencies): IntakeServices {
  const { config, database, temporal, registry, logger } = dependencies
  const ledger = createEventLedger(database, registry, logger)
  const { count } = ledger
  const starts = composeStarts((input, limitMs) => startDelivery(temporal, input, { limitMs }), temporal, logger)
  const { start, slots } = starts
  const knownParcels = createKnownParcels(database)
  const readinessOf = (targets: readonly DeliveryTarget[]): Readiness =>
    dependencies.readiness(targets.map(({ destinationId }) => destinationId))
  const inbox = composeInbox({
    ...dependencies,
    starts,
    readinessOf,
    onParcelsMade: knownParcels.noteMade,
    count,
  })
  const direct = createDirectStarts({ start, slots, knownInParcels: knownParcels.among, count, logger })
  return {
    intake: createIntake({ direct, inbox: inbox.writer, readiness: readinessOf, retry: config.retry, count, logger }),
    ledger,
    queuedSteering: createQueuedSteering({ database, start, count }),
    onLineMoved: inbox.wake,
    async stop() {
      await Promise.all([inbox.stop(), starts.stop()])
      await ledger.stop()
    },
  }
}
