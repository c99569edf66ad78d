/** Starts the workflow of one parcel, once, whatever fails on the way. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { RetrySchedule } from '../contracts/delivery.ts'
import { beginEvent } from '../contracts/parcel-progress.ts'
import type { EventProgress, ParcelEvent } from '../contracts/parcels.ts'
import type { Database } from '../db/database.ts'
import { recordProgress } from '../db/parcel-progress.ts'
import { endLostParcel, removeFromParcel, type ParcelToStart } from '../db/parcels.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { isRefusedForGood, refusalText } from '../temporal/grpc-errors.ts'
import type { ParcelOrder } from '../temporal/start-parcel.ts'
import type { IntakeCounter, IntakeFate } from './event-ledger.ts'

/** Pause before a start that failed is tried again, in milliseconds. */
const failurePauseMs = 1_000

export interface ParcelStarterDependencies {
  database: Database
  start: (parcel: ParcelOrder) => Promise<'started' | 'duplicate'>
  /** Which of these deliveries have a workflow of their own. */
  knownDeliveries: (ids: readonly string[]) => Promise<Set<string>>
  isRunning: (id: string) => Promise<boolean>
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

/** @returns starts a parcel; resolves when Temporal took it or refuses it for good, or `stopping` aborts */
export function createParcelStarter(
  dependencies: ParcelStarterDependencies,
  stopping: AbortSignal,
): (parcel: ParcelToStart) => Promise<void> {
  const failures = createFailureLog(dependencies.logger, 'parcel.not_started', refusalText)
  return async (parcel) => {
    while (!stopping.aborted) {
      try {
        await startOnce(dependencies, parcel)
        failures.worked()
        return
      } catch (error) {
        failures.failed(error)
        await sleep(failurePauseMs, undefined, { signal: stopping }).catch(() => undefined)
      }
    }
  }
}

async function startOnce(dependencies: ParcelStarterDependencies, given: ParcelToStart): Promise<void> {
  const { database, start, isRunning, retry, count, logger } = dependencies
  const parcel = await withoutKnown(dependencies, given)
  if (parcel.events.length === 0) return
  const events = parcel.events.map(({ eventId: _, ...event }) => event)
  try {
    const became = await start({ id: parcel.id, input: { events, retry } })
    if (became === 'started') {
      countEach(count, 'started', events)
      const outOfOrder = events.filter(({ isOutOfOrder }) => isOutOfOrder)
      countEach(count, 'out_of_order', outOfOrder)
    } else if (!(await isRunning(parcel.id))) await endLostParcel(database, parcel.id)
  } catch (error) {
    if (!isRefusedForGood(error)) throw error
    const reason = `Temporal refuses it: ${refusalText(error as Error)}`
    logger.error({ parcelId: parcel.id, error: reason }, 'parcel.refused')
    await refuseAll(database, parcel, reason)
  }
}

/** @returns the parcel without the events that have a workflow of their own already */
async function withoutKnown(
  { database, knownDeliveries, count }: ParcelStarterDependencies,
  parcel: ParcelToStart,
): Promise<ParcelToStart> {
  const known = await knownDeliveries(parcel.events.map(({ eventId }) => eventId))
  if (known.size === 0) return parcel
  await database.transaction((tx) => removeFromParcel(tx, parcel.id, [...known]))
  countEach(
    count,
    'duplicate',
    parcel.events.filter(({ eventId }) => known.has(eventId)),
  )
  return { ...parcel, events: parcel.events.filter(({ eventId }) => !known.has(eventId)) }
}

/** Counts the events of each source. */
function countEach(count: IntakeCounter, fate: IntakeFate, events: readonly ParcelEvent[]): void {
  const sources = new Map<string, number>()
  for (const { sourceId } of events) sources.set(sourceId, (sources.get(sourceId) ?? 0) + 1)
  for (const [sourceId, number] of sources) count(fate, sourceId, number)
}

const refuseAll = (database: Database, { id, events }: ParcelToStart, reason: string): Promise<unknown> =>
  recordProgress(database, [
    { parcelId: id, progress: events.map((event, place) => refused(beginEvent(event, place), reason)) },
  ])

const refused = (event: EventProgress, reason: string): EventProgress => ({
  ...event,
  destinations: event.destinations.map((destination) => ({
    ...destination,
    endpoints: destination.endpoints.map(({ waits: _, ...endpoint }) => ({ ...endpoint, end: 'failed', reason })),
  })),
})
