/** Who takes events out of the inbox: this node, or others while this one only keeps in mind of what some wait. */

import type { Config } from '../config.ts'
import type { DeliveryTarget } from '../contracts/delivery.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { Database } from '../db/database.ts'
import { runDrainer } from '../intake/drainer.ts'
import type { EventLedger } from '../intake/event-ledger.ts'
import type { InboxTurns, Readiness } from '../intake/inbox-turns.ts'
import { createParcelStarts, type ParcelStarts } from '../intake/start-parcels.ts'
import { createSingleStarts } from '../intake/start-singles.ts'
import { keepLooking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'
import { cancelDelivery } from '../temporal/cancel-delivery.ts'
import type { Temporal } from '../temporal/connection.ts'
import { isRunning, knownWorkflows, startParcel, type ParcelOrder } from '../temporal/start-parcel.ts'
import type { GateServices } from './compose-gate.ts'
import type { Starts } from './compose-starts.ts'

/** Milliseconds between two looks for what waits, on a node that takes nothing out. */
const lookPauseMs = 500

export interface Drain {
  /** Takes events that need not wait; undefined when this node makes no parcels. */
  parcels: ParcelStarts | undefined
  /** To be called when events were written to the inbox. */
  wake: () => void
  /** Lets the starts under way finish; what was not started goes back. */
  stop(): Promise<void>
}

export interface DrainDependencies extends Pick<GateServices, 'parcelLoad'> {
  config: Config
  database: Database
  temporal: Temporal
  starts: Starts
  inboxTurns: InboxTurns
  readinessOf: (targets: readonly DeliveryTarget[]) => Readiness
  /** Resolves when the callers that wait for the inbox now have their answer: they come first.
   *  @returns how many they were */
  giveWay: () => Promise<number>
  onParcelsMade: () => void
  count: EventLedger['count']
  logger: Logger
}

/** Of a node that delivers. */
export function composeDrain(dependencies: DrainDependencies): Drain {
  const { config, database, temporal, starts, inboxTurns, readinessOf, giveWay, count, logger } = dependencies
  const { slots, pace, start } = starts
  const parcels =
    config.parcels === 'off'
      ? undefined
      : createParcelStarts({
          database,
          start: slots.watch((parcel: ParcelOrder) => startParcel(temporal, parcel)),
          knownDeliveries: async (ids) => {
            const listed = await knownWorkflows(temporal, ids)
            return new Set(ids.filter((id) => listed.has(id) || starts.wasStartedLately(id)))
          },
          isRunning: (id) => isRunning(temporal, id),
          load: dependencies.parcelLoad,
          giveWay,
          onMade: dependencies.onParcelsMade,
          onRoom: () => drainer.goOn(),
          isProven: () => slots.isProven(),
          isOpen: (targets) => readinessOf(targets) === 'open',
          retry: config.retry,
          count,
          logger,
        })
  const drainer = runDrainer({
    database,
    inboxTurns,
    singles: createSingleStarts({
      database,
      start,
      cancel: ({ sourceId, messageId }, trace) => cancelDelivery(temporal, eventWorkflowId(sourceId, messageId), trace),
      limit: () => pace.limit(),
      giveWay,
      count,
      logger,
    }),
    parcels,
    isResting: () => slots.isResting(),
    isProven: () => slots.isProven(),
    windowMs: config.retry.windowMs,
    logger,
  })
  return { parcels, wake: drainer.wake, stop: () => drainer.stop() }
}

/** Of a node that only takes events: those that come behind waiting ones go to the inbox, too. */
export function watchInbox({ inboxTurns, logger }: Pick<DrainDependencies, 'inboxTurns' | 'logger'>): Drain {
  const look = async (): Promise<void> => void (await inboxTurns.next())
  const looks = keepLooking({ look, failure: 'inbox.not_looked_at', pauseMs: lookPauseMs, logger })
  return { parcels: undefined, wake: () => {}, stop: () => looks.stop() }
}
