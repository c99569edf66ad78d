/** Moves events of the inbox into parcels, and starts the workflow of each. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import { beginEvent } from '../contracts/parcel-progress.ts'
import { maxParcelEvents, type DeliverParcelInput, type EventProgress } from '../contracts/parcels.ts'
import type { Database } from '../db/database.ts'
import type { NewInboxEvent } from '../db/inbox.ts'
import {
  claimLostParcels,
  endLostParcel,
  moveIntoParcels,
  recordProgress,
  removeFromParcel,
  writeIntoParcels,
  type ParcelToStart,
} from '../db/parcels.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { isRefusedForGood, refusalText } from '../temporal/grpc-errors.ts'
import type { IntakeCounter } from './fates.ts'
import type { ParcelLoad } from '../delivery/parcel-load.ts'

/** Parcels that are made together, and whose workflows are started side by side. */
const parcelsTogether = 4

/** Parcels of newcomers that are on their way beside them. */
const newcomersTogether = 4

/** Up to so many events that wait have workflows of their own. */
export const maxSingles = 4

/** A parcel of which nothing was heard for so long has lost its node, in milliseconds, and how many of them are taken over
 *  together, how often. */
const lostAfterMs = 15_000
const claimedTogether = 10
const claimPauseMs = 5_000

/** Before a start that failed is tried again, in milliseconds. */
const failurePauseMs = 1_000

/** Whether events come behind those that are on their way, or are of sources that sent nothing lately: these go beside a flood
 *  of others. */
export type Place = 'inTurn' | 'newcomers'

export interface ParcelStarts {
  /** Whether new events are to travel in parcels, which can be started and sent now. */
  hasRoom(events: readonly NewInboxEvent[], place: Place): boolean
  /** Writes new events into parcels, and starts these.
   *  @returns how many were new
   *  @throws what the database throws */
  write(events: readonly NewInboxEvent[], place: Place): Promise<number>
  /** Moves the oldest events of these turns into parcels, and starts them as soon as there is room.
   *  @returns how many events there were
   *  @throws what the database throws */
  move(turns: readonly string[]): Promise<number>
  /** Events in parcels that are about to be started by this node. */
  waiting(): number
  /** Starts parcels whose node was lost before Temporal had them; it looks for them now and then. */
  claimLost(): Promise<void>
  /** Waits for the starts under way; what was not started is left to `claimLost`. */
  stop(): Promise<void>
}

export interface ParcelStartsDependencies {
  database: Database
  start: (parcel: { id: string; input: DeliverParcelInput }) => Promise<'started' | 'duplicate'>
  /** Which of these deliveries have a workflow of their own. */
  knownDeliveries: (ids: readonly string[]) => Promise<Set<string>>
  isRunning: (id: string) => Promise<boolean>
  load: ParcelLoad
  /** Whether Temporal took an event a moment ago, and none in vain since. */
  isProven: () => boolean
  /** Whether no endpoint of an event takes an attempt now. */
  isShut: (targets: readonly DeliveryTarget[]) => boolean
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

export function createParcelStarts(dependencies: ParcelStartsDependencies): ParcelStarts {
  const { database, start, knownDeliveries, isRunning, load, isProven, isShut, retry, count, logger } = dependencies
  const stopping = new AbortController()
  const underWay = new Map<string, Promise<void>>()
  const newcomers = new Map<string, Promise<void>>()
  let waiting = 0
  let claimedAt = -Infinity

  /** @returns the parcel without what was started before on its own */
  const withoutKnown = async (parcel: ParcelToStart): Promise<ParcelToStart> => {
    const known = await knownDeliveries(parcel.events.map(({ eventId }) => eventId))
    if (known.size === 0) return parcel
    await database.transaction((tx) => removeFromParcel(tx, parcel.id, [...known]))
    const events = parcel.events.filter(({ eventId }) => !known.has(eventId))
    const [first] = parcel.events
    if (first !== undefined) count('duplicate', first.sourceId, known.size)
    return { ...parcel, events }
  }

  const endAll = (parcel: ParcelToStart, end: (event: EventProgress) => EventProgress): Promise<void> =>
    recordProgress(database, [
      { parcelId: parcel.id, progress: parcel.events.map((event, place) => end(beginEvent(event, place))) },
    ])

  const startOnce = async (given: ParcelToStart): Promise<void> => {
    const parcel = await withoutKnown(given)
    const [first] = parcel.events
    if (first === undefined) return
    const events = parcel.events.map(({ eventId: _, ...event }) => event)
    try {
      const became = await start({ id: parcel.id, input: { events, retry } })
      if (became === 'started') count('started', first.sourceId, events.length)
      else if (!(await isRunning(parcel.id))) await endLostParcel(database, parcel.id)
    } catch (error) {
      if (!isRefusedForGood(error)) throw error
      const reason = `Temporal refuses it: ${refusalText(error as Error)}`
      logger.error({ parcelId: parcel.id, error: reason }, 'parcel.refused')
      await endAll(parcel, (event) => refused(event, reason))
    }
  }

  /** Until Temporal took it. */
  const failures = createFailureLog(logger, 'parcel.not_started', refusalText)
  const startUntilTaken = async (parcel: ParcelToStart): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await startOnce(parcel)
        failures.worked()
        return
      } catch (error) {
        failures.failed(error)
        await sleep(failurePauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
    }
  }

  const begin = (parcel: ParcelToStart, among: Map<string, Promise<void>>): void => {
    const { length } = parcel.events
    waiting += length
    const aboutToCome = load.begin(length)
    const starting = startUntilTaken(parcel).finally(() => {
      waiting -= length
      aboutToCome.end()
      among.delete(parcel.id)
    })
    among.set(parcel.id, starting)
  }

  /** A parcel lets those who came beside it go first, once: it and its like take the whole machine otherwise. */
  const startAll = async (parcels: readonly ParcelToStart[]): Promise<void> => {
    for (const parcel of parcels) {
      await Promise.all(newcomers.values())
      while (underWay.size >= parcelsTogether) await Promise.race(underWay.values())
      await load.room(stopping.signal)
      if (stopping.signal.aborted) return
      if (!underWay.has(parcel.id)) begin(parcel, underWay)
    }
  }

  return {
    hasRoom(events, place) {
      if (!isProven() || events.some(({ input }) => isShut(input.targets))) return false
      const needed = Math.ceil(events.length / maxParcelEvents)
      if (place === 'newcomers') return newcomers.size + needed <= newcomersTogether
      return events.length > maxSingles && underWay.size + needed <= parcelsTogether && load.hasRoom()
    },
    async write(events, place) {
      const parcels = await writeIntoParcels(database, `parcel/${randomUUID()}`, events)
      for (const { id } of parcels) load.expect(id)
      if (place === 'inTurn') void startAll(fewestFirst(parcels))
      else for (const parcel of parcels) begin(parcel, newcomers)
      return parcels.reduce((sum, parcel) => sum + parcel.events.length, 0)
    },
    async move(turns) {
      const perTurn = maxParcelEvents * Math.max(1, Math.floor(parcelsTogether / Math.max(1, turns.length)))
      const parcels = await moveIntoParcels(database, `parcel/${randomUUID()}`, turns, perTurn)
      for (const { id } of parcels) load.expect(id)
      await startAll(fewestFirst(parcels))
      return parcels.reduce((sum, { events }) => sum + events.length, 0)
    },
    waiting: () => waiting,
    async claimLost() {
      if (performance.now() - claimedAt < claimPauseMs) return
      claimedAt = performance.now()
      await startAll(await claimLostParcels(database, lostAfterMs, claimedTogether))
    },
    async stop() {
      stopping.abort()
      await Promise.all([...underWay.values(), ...newcomers.values()])
    },
  }
}

/** Turns with few events first, who then wait least and hold up the others for a moment; those of each in order of arrival. */
function fewestFirst(parcels: readonly ParcelToStart[]): ParcelToStart[] {
  const turns = new Map<string, ParcelToStart[]>()
  for (const parcel of parcels) turns.set(parcel.turn, [...(turns.get(parcel.turn) ?? []), parcel])
  const sizeOf = (turn: ParcelToStart[]): number => turn.reduce((sum, { events }) => sum + events.length, 0)
  return [...turns.values()].toSorted((a, b) => sizeOf(a) - sizeOf(b)).flat()
}

const refused = (event: EventProgress, reason: string): EventProgress => ({
  ...event,
  destinations: event.destinations.map((destination) => ({
    ...destination,
    endpoints: destination.endpoints.map(({ waits: _, ...endpoint }) => ({ ...endpoint, end: 'failed', reason })),
  })),
})
