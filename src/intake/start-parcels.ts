/** Moves events of the inbox into parcels, and starts the workflow of each. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryTarget, RetrySchedule } from '../contracts/delivery.ts'
import { beginEvent } from '../contracts/parcel-progress.ts'
import { maxParcelEvents, type DeliverParcelInput, type EventProgress } from '../contracts/parcels.ts'
import type { Database } from '../db/database.ts'
import {
  claimLostParcels,
  endLostParcel,
  moveIntoParcels,
  removeFromParcel,
  writeIntoParcels,
  type ParcelToStart,
} from '../db/parcels.ts'
import type { NewInboxEvent } from '../db/inbox.ts'
import { recordProgress } from '../db/parcel-progress.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { isRefusedForGood, refusalText } from '../temporal/grpc-errors.ts'
import type { IntakeCounter } from './event-ledger.ts'
import type { ParcelLoad } from '../delivery/parcel-load.ts'

/** Parcels that are made together, and whose workflows are started side by side. */
const parcelsTogether = 4

/** Before each parcel is started, so many groups of callers that wait for the inbox get their answer. */
const turnsGiven = 2

/** Parcels of newcomers whose workflows are started side by side, beside the others. A newcomer is an event of which nothing with the same
 *  source and destinations waits. */
const newcomersTogether = 4

/** Parcels of this node that may wait for their start. */
const maxQueued = 200

/** When at most so many events of one turn wait, each gets a workflow of its own. */
export const maxSingles = 4

/** A parcel that has not been started for so long has lost its node, in milliseconds. Other nodes take over as many of them together,
 *  once in so many milliseconds. */
const lostAfterMs = 15_000
const claimedTogether = 10
const claimPauseMs = 5_000

/** Pause before a start that failed is tried again, in milliseconds. */
const failurePauseMs = 1_000

export interface ParcelStarts {
  /** Whether newcomers can be started now, beside a flood of other events: their endpoints answer, and few parcels of newcomers are under
   *  way. */
  hasRoom(newcomers: readonly NewInboxEvent[]): boolean
  /** Writes newcomers into parcels, and starts these.
   *  @returns how many were new
   *  @throws what the database throws */
  write(newcomers: readonly NewInboxEvent[]): Promise<number>
  /** Whether no more parcels of this turn should be made now: some wait for their start, too many of other turns do, or many of its events
   *  have not had their first attempt. */
  isBusy(turn: string): boolean
  /** Moves the oldest events of these turns into parcels, and begins to start these, those of each turn as fast as its events get their first attempts.
   *  @returns how many events there were of each
   *  @throws what the database throws */
  move(turns: readonly string[]): Promise<Map<string, number>>
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
  /** Resolves when the callers that wait for the inbox now have their answer. */
  giveWay: () => Promise<void>
  /** Told when there are new parcels. */
  onMade: () => void
  /** Told when a turn is no longer busy. */
  onRoom: () => void
  /** Whether Temporal took an event a moment ago, and none in vain since. */
  isProven: () => boolean
  /** Whether endpoints of an event answer. */
  isOpen: (targets: readonly DeliveryTarget[]) => boolean
  retry: RetrySchedule
  count: IntakeCounter
  logger: Logger
}

export function createParcelStarts(dependencies: ParcelStartsDependencies): ParcelStarts {
  const { database, start, knownDeliveries, isRunning, load, giveWay, isProven, isOpen, retry, count, logger } =
    dependencies
  const stopping = new AbortController()
  const underWay = new Map<string, Promise<void>>()
  const newcomers = new Map<string, Promise<void>>()
  /** What starts the parcels of a turn one after the other, by turn; absent for a turn of which none waits. */
  const queues = new Map<string, Promise<void>>()
  /** Parcels that wait for their start, or are being started. */
  const queued = new Set<string>()
  let waiting = 0
  let claimedAt = -Infinity

  /** @returns the parcel without the events that have a workflow of their own already */
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
    const { turn, events } = parcel
    const aboutToCome = load.begin(turn, events.length)
    const starting = startUntilTaken(parcel).finally(() => {
      waiting -= events.length
      aboutToCome.end()
      among.delete(parcel.id)
      queued.delete(parcel.id)
    })
    among.set(parcel.id, starting)
  }

  /** Starts parcels one after the other. Before each, newcomers go first, and callers that wait get their answer: a flood of parcels
   *  would otherwise take the whole machine. */
  const startInOrder = async (parcels: readonly ParcelToStart[]): Promise<void> => {
    for (const parcel of parcels) {
      await load.precedence.turnOf(parcel.id)
      for (let turn = 0; turn < turnsGiven; turn++) await giveWay()
      await load.room(parcel.turn, stopping.signal)
      while (underWay.size >= parcelsTogether && !stopping.signal.aborted) await Promise.race(underWay.values())
      if (stopping.signal.aborted) return
      begin(parcel, underWay)
    }
  }

  const expectStarts = (parcels: readonly ParcelToStart[]): void => {
    waiting += sizeOf(parcels)
    for (const { id } of parcels) queued.add(id)
  }

  /** Begins to start parcels, those of each turn one after the other. */
  const enqueue = (parcels: readonly ParcelToStart[]): void => {
    expectStarts(parcels)
    for (const ofTurn of fewestFirst(parcels)) {
      const turn = ofTurn[0]?.turn ?? ''
      const queue = (queues.get(turn) ?? Promise.resolve())
        .then(() => startInOrder(ofTurn))
        .then(() => load.room(turn, stopping.signal))
        .finally(() => {
          if (queues.get(turn) === queue) queues.delete(turn)
          dependencies.onRoom()
        })
      queues.set(turn, queue)
    }
  }

  const noteMade = (parcels: readonly ParcelToStart[]): void => {
    for (const { id } of parcels) load.expect(id)
    if (parcels.length > 0) dependencies.onMade()
  }

  const isBusy = (turn: string): boolean => queued.size >= maxQueued || queues.has(turn) || !load.hasRoom(turn)

  return {
    hasRoom: (events) =>
      isProven() &&
      events.every(({ input }) => isOpen(input.targets)) &&
      newcomers.size + Math.ceil(events.length / maxParcelEvents) <= newcomersTogether,
    async write(events) {
      const prefix = `parcel/${randomUUID()}`
      load.precedence.begin(prefix)
      try {
        const parcels = await writeIntoParcels(database, prefix, events)
        for (const { id } of parcels) load.precedence.begin(id)
        noteMade(parcels)
        expectStarts(parcels)
        for (const parcel of parcels) begin(parcel, newcomers)
        return sizeOf(parcels)
      } finally {
        load.precedence.end(prefix)
      }
    },
    isBusy,
    async move(turns) {
      const perTurn = maxParcelEvents * Math.max(1, Math.floor(parcelsTogether / Math.max(1, turns.length)))
      await load.precedence.turnOf('')
      const parcels = await moveIntoParcels(database, `parcel/${randomUUID()}`, turns, perTurn)
      noteMade(parcels)
      enqueue(parcels)
      const moved = new Map<string, number>()
      for (const { turn, events } of parcels) moved.set(turn, (moved.get(turn) ?? 0) + events.length)
      return moved
    },
    waiting: () => waiting,
    async claimLost() {
      if (performance.now() - claimedAt < claimPauseMs || queued.size >= maxQueued) return
      claimedAt = performance.now()
      const claimed = await claimLostParcels(database, lostAfterMs, claimedTogether)
      enqueue(claimed.filter(({ id }) => !queued.has(id)))
    },
    async stop() {
      stopping.abort()
      await Promise.all([...queues.values(), ...underWay.values(), ...newcomers.values()])
    },
  }
}

const sizeOf = (parcels: readonly ParcelToStart[]): number =>
  parcels.reduce((sum, { events }) => sum + events.length, 0)

/** The parcels of each turn in order of arrival; turns with few events first, as these hold the others up for a moment alone. */
function fewestFirst(parcels: readonly ParcelToStart[]): ParcelToStart[][] {
  const turns = new Map<string, ParcelToStart[]>()
  for (const parcel of parcels) turns.set(parcel.turn, [...(turns.get(parcel.turn) ?? []), parcel])
  return [...turns.values()].toSorted((a, b) => sizeOf(a) - sizeOf(b))
}

const refused = (event: EventProgress, reason: string): EventProgress => ({
  ...event,
  destinations: event.destinations.map((destination) => ({
    ...destination,
    endpoints: destination.endpoints.map(({ waits: _, ...endpoint }) => ({ ...endpoint, end: 'failed', reason })),
  })),
})
