/** The parcels of this node that wait for their start: those of each turn one after the other, newcomers beside them. A newcomer is an
 *  event of which nothing with the same source and destinations waits. */

import { setTimeout as sleep } from 'node:timers/promises'
import { sharedTurn, turnIdOf } from '../db/inbox.ts'
import type { ParcelToStart } from '../db/parcels.ts'
import type { ParcelLoad } from '../delivery/parcel-load.ts'
import { floodPauseMs } from './flood-pause.ts'

/** Parcels that are made together, and whose workflows are started side by side. */
export const parcelsTogether = 4

/** Before each parcel is started, so many groups of callers that wait for the inbox get their answer. */
const turnsGiven = 2

/** Parcels of newcomers whose workflows are started side by side, beside the others; and how long after such a start others go to the
 *  inbox, where they share parcels, in milliseconds. */
const newcomersTogether = 4
const newcomersPauseMs = 100

/** Parcels of this node that may wait for their start. */
const maxQueued = 200

export interface ParcelQueues {
  /** Begins to start parcels, those of each turn one after the other. */
  enqueue: (parcels: readonly ParcelToStart[]) => void
  /** Begins to start parcels of newcomers at once. */
  beginAtOnce: (parcels: readonly ParcelToStart[]) => void
  /** Whether so many more parcels of newcomers can be started at once. */
  hasRoomAtOnce: (parcels: number) => boolean
  /** Whether the parcel waits for its start, or is being started. */
  has: (id: string) => boolean
  /** Whether as many parcels wait as may. */
  isFull: () => boolean
  /** Whether parcels of the turn wait for their start, or too many of its events for their first attempt. */
  isBusy: (turn: string) => boolean
  /** Events in parcels that are about to be started. */
  waiting: () => number
  /** Resolves when nothing waits and nothing is being started. */
  over: () => Promise<void>
}

export interface ParcelQueuesDependencies {
  /** Starts a parcel's workflow. */
  start: (parcel: ParcelToStart) => Promise<void>
  load: ParcelLoad
  /** Resolves when the callers that wait for the inbox now have their answer.
   *  @returns how many there were */
  giveWay: () => Promise<number>
  /** Told when a turn is no longer busy. */
  onRoom: () => void
  stopping: AbortSignal
}

export function createParcelQueues(dependencies: ParcelQueuesDependencies): ParcelQueues {
  const { start, load, giveWay, onRoom, stopping } = dependencies
  const underWay = new Map<string, Promise<void>>()
  const newcomers = new Map<string, Promise<void>>()
  let newcomersAt = -Infinity
  /** When the last parcel of those in order began. */
  let begunAt = -Infinity
  /** What starts the parcels of a turn one after the other, by turn; absent for a turn of which none waits. */
  const queues = new Map<string, Promise<void>>()
  /** The parcels that wait for their start, or are being started, and the number of their events. */
  const queued = new Map<string, number>()
  /** Of each shared parcel that waits behind others: the turns of its events. */
  const turnsBehind = new Map<string, ReadonlySet<string>>()

  const begin = (parcel: ParcelToStart, among: Map<string, Promise<void>>): void => {
    const aboutToCome = load.begin(parcel.turn, parcel.events.length)
    const starting = start(parcel).finally(() => {
      aboutToCome.end()
      among.delete(parcel.id)
      queued.delete(parcel.id)
    })
    among.set(parcel.id, starting)
  }

  const letCallersGoFirst = async (): Promise<void> => {
    let callers = 0
    for (let turn = 0; turn < turnsGiven; turn++) callers = Math.max(callers, await giveWay())
    const pauseMs = floodPauseMs(callers, performance.now() - begunAt)
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined)
  }

  /** Before each, newcomers go first, and callers that wait get their answer: a flood of parcels would otherwise take the whole
   *  machine. */
  const startInOrder = async (parcels: readonly ParcelToStart[]): Promise<void> => {
    for (const parcel of parcels) {
      await load.precedence.turnOf(parcel.id)
      await letCallersGoFirst()
      await load.room(parcel.turn, stopping)
      while (underWay.size >= parcelsTogether && !stopping.aborted) await Promise.race(underWay.values())
      if (stopping.aborted) return
      turnsBehind.delete(parcel.id)
      begunAt = performance.now()
      begin(parcel, underWay)
    }
  }

  const expectStarts = (parcels: readonly ParcelToStart[]): void => {
    for (const { id, events } of parcels) queued.set(id, events.length)
  }

  const enqueueOfTurn = (turn: string, parcels: readonly ParcelToStart[]): void => {
    if (turn === sharedTurn) for (const { id, events } of parcels) turnsBehind.set(id, new Set(events.map(turnIdOf)))
    const queue = (queues.get(turn) ?? Promise.resolve())
      .then(() => startInOrder(parcels))
      .then(() => load.room(turn, stopping))
      .finally(() => {
        if (queues.get(turn) === queue) queues.delete(turn)
        onRoom()
      })
    queues.set(turn, queue)
  }

  const isFull = (): boolean => queued.size >= maxQueued
  const isBehind = (turn: string): boolean => [...turnsBehind.values()].some((turns) => turns.has(turn))

  return {
    enqueue(parcels) {
      expectStarts(parcels)
      for (const [turn, ofTurn] of fewestFirst(parcels)) enqueueOfTurn(turn, ofTurn)
    },
    beginAtOnce(parcels) {
      expectStarts(parcels)
      newcomersAt = performance.now()
      for (const parcel of parcels) begin(parcel, newcomers)
    },
    hasRoomAtOnce: (parcels) =>
      newcomers.size + parcels <= newcomersTogether && performance.now() - newcomersAt >= newcomersPauseMs,
    has: (id) => queued.has(id),
    isFull,
    isBusy: (turn) => isFull() || queues.has(turn) || isBehind(turn) || !load.hasRoom(turn),
    waiting: () => [...queued.values()].reduce((sum, events) => sum + events, 0),
    over: async () => void (await Promise.all([...queues.values(), ...underWay.values(), ...newcomers.values()])),
  }
}

export const sizeOf = (parcels: readonly ParcelToStart[]): number =>
  parcels.reduce((sum, { events }) => sum + events.length, 0)

/** The parcels of each turn in order of arrival; turns with few events first, as these hold the others up for a moment alone. */
function fewestFirst(parcels: readonly ParcelToStart[]): [string, ParcelToStart[]][] {
  const turns = new Map<string, ParcelToStart[]>()
  for (const parcel of parcels) turns.set(parcel.turn, [...(turns.get(parcel.turn) ?? []), parcel])
  return [...turns].toSorted(([, a], [, b]) => sizeOf(a) - sizeOf(b))
}
