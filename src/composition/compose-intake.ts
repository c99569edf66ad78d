/** Everything of a node that holds accepted events until Temporal has them. */

import { LRUCache } from 'lru-cache'
import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { DeliverEventInput, DeliveryTarget, SteeringTrace } from '../contracts/delivery.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { Database } from '../db/database.ts'
import { turnIdOf } from '../db/inbox.ts'
import { createDirectSlots } from '../intake/direct-slots.ts'
import { runDrainer } from '../intake/drainer.ts'
import { createEventLedger, type EventLedger } from '../intake/event-ledger.ts'
import { forgetSettled } from '../intake/forget-settled.ts'
import { createInboxWriter } from '../intake/inbox-writer.ts'
import { createIntake, type Intake } from '../intake/intake.ts'
import { createInboxTurns, type Readiness } from '../intake/inbox-turns.ts'
import { createKnownParcels } from '../intake/known-parcels.ts'
import { createParcelStarts } from '../intake/start-parcels.ts'
import { createSingleStarts } from '../intake/start-singles.ts'
import { createQueuedSteering } from '../intake/steer-queued.ts'
import { createStartPace } from '../intake/start-pace.ts'
import type { Logger } from '../logger.ts'
import { cancelDelivery } from '../temporal/cancel-delivery.ts'
import type { Temporal } from '../temporal/connection.ts'
import { createNamespaceRepair } from '../temporal/repair-namespace.ts'
import { isRunning, knownWorkflows, startParcel, type ParcelOrder } from '../temporal/start-parcel.ts'
import { startDelivery } from '../temporal/start-delivery.ts'
import type { QueuedSteering } from '../temporal/steering.ts'
import type { GateServices } from './compose-gate.ts'

export interface IntakeServices {
  intake: Intake
  ledger: EventLedger
  queuedSteering: QueuedSteering
  stop(): Promise<void>
}

export interface IntakeServicesDependencies extends Pick<GateServices, 'parcelLoad' | 'readiness'> {
  config: Config
  database: Database
  temporal: Temporal
  registry: Registry
  logger: Logger
}

export function composeIntake(dependencies: IntakeServicesDependencies): IntakeServices {
  const { config, database, temporal, registry, logger } = dependencies
  const ledger = createEventLedger(database, registry, logger)
  const { count } = ledger
  const pace = createStartPace()
  const slots = createDirectSlots()
  const repair = createNamespaceRepair(temporal, logger)
  // Temporal's lists are a moment behind.
  const startedLately = new LRUCache<string, true>({ max: 10_000, ttl: 30_000 })
  const startOne = async (input: DeliverEventInput): Promise<'started' | 'duplicate'> => {
    const became = await startDelivery(temporal, input)
    startedLately.set(eventWorkflowId(input.sourceId, input.messageId), true)
    return became
  }
  const start = slots.watch(pace.watch(repair.watch(startOne)))
  const readinessOf = (targets: readonly DeliveryTarget[]): Readiness =>
    dependencies.readiness(targets.map(({ destinationId }) => destinationId))
  const cancel = ({ sourceId, messageId }: DeliverEventInput, trace: SteeringTrace) =>
    cancelDelivery(temporal, eventWorkflowId(sourceId, messageId), trace)
  const knownParcels = createKnownParcels(database)
  const parcels =
    config.parcels === 'off'
      ? undefined
      : createParcelStarts({
          database,
          start: slots.watch((parcel: ParcelOrder) => startParcel(temporal, parcel)),
          knownDeliveries: async (ids) => {
            const listed = await knownWorkflows(temporal, ids)
            return new Set(ids.filter((id) => listed.has(id) || startedLately.has(id)))
          },
          isRunning: (id) => isRunning(temporal, id),
          load: dependencies.parcelLoad,
          giveWay: () => inbox.written(),
          onMade: knownParcels.noteMade,
          onRoom: () => drainer.goOn(),
          isProven: () => slots.isProven(),
          isOpen: (targets) => readinessOf(targets) === 'open',
          retry: config.retry,
          count,
          logger,
        })
  const inboxTurns = createInboxTurns(database, dependencies.readiness)
  const inbox = createInboxWriter({
    database,
    inboxMax: config.inboxMax,
    turns: inboxTurns,
    onWritten: (events) => {
      const targets = new Map(events.map(({ input }) => [turnIdOf(input), input.targets]))
      if ([...targets.values()].some((of) => readinessOf(of) !== 'shut')) drainer.wake()
    },
    parcels,
  })
  const drainer = runDrainer({
    database,
    inboxTurns,
    singles: createSingleStarts({
      database,
      start,
      cancel,
      limit: () => pace.limit(),
      giveWay: inbox.written,
      count,
      logger,
    }),
    parcels,
    isResting: () => slots.isResting(),
    isProven: () => slots.isProven(),
    windowMs: config.retry.windowMs,
    logger,
  })
  const settled = forgetSettled(database, config.retentionMs, logger)
  const intake = createIntake({
    start,
    inbox,
    slots,
    readiness: readinessOf,
    knownInParcels: knownParcels.among,
    retry: config.retry,
    count,
    logger,
  })
  return {
    intake,
    ledger,
    queuedSteering: createQueuedSteering({ database, start, count }),
    async stop() {
      await Promise.all([drainer, repair, settled].map((part) => part.stop()))
      await ledger.stop()
    },
  }
}
