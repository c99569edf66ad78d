/** Puts events into parcels, and starts these: one workflow carries many events. */

import { randomUUID } from 'node:crypto'
import type { DeliveryTarget } from '../contracts/delivery.ts'
import { maxParcelEvents } from '../contracts/parcels.ts'
import type { NewInboxEvent } from '../db/inbox.ts'
import { claimLostParcels, moveIntoParcels, writeIntoParcels, type ParcelToStart } from '../db/parcels.ts'
import type { ParcelLoad } from '../delivery/parcel-load.ts'
import { createParcelQueues, parcelsTogether, sizeOf, type ParcelQueuesDependencies } from './parcel-queues.ts'
import { createParcelStarter, type ParcelStarterDependencies } from './start-parcel-once.ts'

/** When at most so many events of one turn wait, or one event of so many turns, each gets a workflow of its own. */
export const maxSingles = 4

/** A parcel that has not been started for so long has lost its node, in milliseconds. Other nodes take over as many of them together,
 *  once in so many milliseconds. */
const lostAfterMs = 15_000
const claimedTogether = 10
const claimPauseMs = 5_000

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

export interface ParcelStartsDependencies
  extends ParcelStarterDependencies, Pick<ParcelQueuesDependencies, 'giveWay' | 'onRoom'> {
  load: ParcelLoad
  /** Told when there are new parcels. */
  onMade: () => void
  /** Whether Temporal took an event a moment ago, and none in vain since. */
  isProven: () => boolean
  /** Whether endpoints of an event answer. */
  isOpen: (targets: readonly DeliveryTarget[]) => boolean
}

export function createParcelStarts(dependencies: ParcelStartsDependencies): ParcelStarts {
  const { database, load, isProven, isOpen, onMade } = dependencies
  const stopping = new AbortController()
  const start = createParcelStarter(dependencies, stopping.signal)
  const queues = createParcelQueues({ ...dependencies, start, stopping: stopping.signal })
  let claimedAt = -Infinity

  const noteMade = (parcels: readonly ParcelToStart[]): void => {
    for (const { id } of parcels) load.expect(id)
    if (parcels.length > 0) onMade()
  }

  return {
    hasRoom: (events) =>
      isProven() &&
      events.every(({ input }) => isOpen(input.targets)) &&
      queues.hasRoomAtOnce(Math.ceil(events.length / maxParcelEvents)),
    async write(events) {
      const prefix = `parcel/${randomUUID()}`
      load.precedence.begin(prefix)
      try {
        const parcels = await writeIntoParcels(database, prefix, events)
        for (const { id } of parcels) load.precedence.begin(id)
        noteMade(parcels)
        queues.beginAtOnce(parcels)
        return sizeOf(parcels)
      } finally {
        load.precedence.end(prefix)
      }
    },
    isBusy: queues.isBusy,
    async move(turns) {
      const perTurn = maxParcelEvents * Math.max(1, Math.floor(parcelsTogether / Math.max(1, turns.length)))
      await load.precedence.turnOf('')
      const parcels = await moveIntoParcels(database, `parcel/${randomUUID()}`, turns, perTurn)
      noteMade(parcels)
      queues.enqueue(parcels)
      return eventsByTurn(parcels)
    },
    waiting: queues.waiting,
    async claimLost() {
      if (performance.now() - claimedAt < claimPauseMs || queues.isFull()) return
      claimedAt = performance.now()
      const claimed = await claimLostParcels(database, lostAfterMs, claimedTogether)
      queues.enqueue(claimed.filter(({ id }) => !queues.has(id)))
    },
    async stop() {
      stopping.abort()
      await queues.over()
    },
  }
}

function eventsByTurn(parcels: readonly ParcelToStart[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { turn, events } of parcels) counts.set(turn, (counts.get(turn) ?? 0) + events.length)
  return counts
}
