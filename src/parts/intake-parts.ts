/** Everything of a node that holds accepted events until Temporal has them. */

import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import { createDirectSlots } from '../intake/direct-slots.ts'
import { runDrainer } from '../intake/drainer.ts'
import { createFates, type Fates } from '../intake/fates.ts'
import { createInboxWriter } from '../intake/inbox-writer.ts'
import { createIntake, type Intake } from '../intake/intake.ts'
import { createStartPace } from '../intake/start-pace.ts'
import type { Logger } from '../logger.ts'
import type { Temporal } from '../temporal/connection.ts'
import { startDelivery } from '../temporal/start-delivery.ts'

export interface IntakeParts {
  intake: Intake
  fates: Fates
  stop(): Promise<void>
}

export interface IntakePartsDependencies {
  config: Config
  database: Database
  temporal: Temporal
  registry: Registry
  logger: Logger
}

export function createIntakeParts({
  config,
  database,
  temporal,
  registry,
  logger,
}: IntakePartsDependencies): IntakeParts {
  const fates = createFates(database, registry, logger)
  const { count } = fates
  const pace = createStartPace()
  const slots = createDirectSlots()
  const start = slots.watch(pace.watch((input: DeliverEventInput) => startDelivery(temporal, input)))
  const inbox = createInboxWriter(database, config.inboxMax, () => drainer.wake())
  const drainer = runDrainer({ database, start, pace, giveWay: inbox.written, count, logger })
  const intake = createIntake({ start, inbox, slots, retry: config.retry, count, logger })
  return {
    intake,
    fates,
    async stop() {
      await drainer.stop()
      await fates.stop()
    },
  }
}
