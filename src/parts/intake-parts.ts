/** Everything of a node that holds accepted events until Temporal has them. */

import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { DeliverEventInput, DeliveryTarget, SteeringTrace } from '../contracts/delivery.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { Database } from '../db/database.ts'
import type { Lane } from '../db/inbox.ts'
import type { Gate } from '../delivery/gate.ts'
import { createDirectSlots } from '../intake/direct-slots.ts'
import { runDrainer, type Drainer } from '../intake/drainer.ts'
import { createFates, type Fates } from '../intake/fates.ts'
import { forgetSettled } from '../intake/forget-settled.ts'
import { createInboxWriter } from '../intake/inbox-writer.ts'
import { createIntake, type Intake } from '../intake/intake.ts'
import { deferredLane, promptLane } from '../intake/lanes.ts'
import { createQueuedSteering } from '../intake/steer-queued.ts'
import { createStartPace } from '../intake/start-pace.ts'
import type { Logger } from '../logger.ts'
import { cancelDelivery } from '../temporal/cancel-delivery.ts'
import type { Temporal } from '../temporal/connection.ts'
import { createNamespaceRepair } from '../temporal/repair-namespace.ts'
import { startDelivery } from '../temporal/start-delivery.ts'
import type { QueuedSteering } from '../temporal/steering.ts'

export interface IntakeParts {
  intake: Intake
  fates: Fates
  queuedSteering: QueuedSteering
  stop(): Promise<void>
}

export interface IntakePartsDependencies {
  config: Config
  database: Database
  temporal: Temporal
  /** Tells which endpoints take no attempt now. */
  gate: Pick<Gate, 'isShut'>
  registry: Registry
  logger: Logger
}

export function createIntakeParts(dependencies: IntakePartsDependencies): IntakeParts {
  const { config, database, temporal, gate, registry, logger } = dependencies
  const fates = createFates(database, registry, logger)
  const { count } = fates
  const pace = createStartPace()
  const slots = createDirectSlots()
  const repair = createNamespaceRepair(temporal, logger)
  const start = slots.watch(pace.watch(repair.watch((input: DeliverEventInput) => startDelivery(temporal, input))))
  const isShut = (targets: readonly DeliveryTarget[]): boolean =>
    targets.every(({ endpointIds }) => endpointIds.every((id) => gate.isShut(id)))
  const inbox = createInboxWriter(database, config.inboxMax, (events) => {
    for (const { lane, input } of events) drainers[lane].wake(input.sourceId)
  })
  const cancel = ({ sourceId, messageId }: DeliverEventInput, trace: SteeringTrace) =>
    cancelDelivery(temporal, eventWorkflowId(sourceId, messageId), trace)
  const common = { database, start, cancel, giveWay: inbox.written, count, logger }
  const drainers: Record<Lane, Drainer> = {
    prompt: runDrainer({ ...common, ...promptLane(pace) }),
    deferred: runDrainer({ ...common, ...deferredLane(isShut) }),
  }
  const settled = forgetSettled(database, config.retentionMs, logger)
  const intake = createIntake({ start, inbox, slots, isShut, retry: config.retry, count, logger })
  return {
    intake,
    fates,
    queuedSteering: createQueuedSteering({ database, start, count }),
    async stop() {
      await Promise.all([...Object.values(drainers), repair, settled].map((part) => part.stop()))
      await fates.stop()
    },
  }
}
