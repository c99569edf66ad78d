/** Starts events of turns of the inbox: each in a workflow of its own while few wait, in parcels otherwise. */

import { setTimeout as sleep } from 'node:timers/promises'
import { maxParcelEvents } from '../contracts/parcels.ts'
import type { Database } from '../db/database.ts'
import { leaseFromInbox, releaseUntried, turnIdOf, type LeasedEvent } from '../db/inbox.ts'
import { leaseCancelled } from '../db/inbox-steering.ts'
import type { InboxTurns } from './inbox-turns.ts'
import { maxSingles, type ParcelStarts } from './start-parcels.ts'
import type { SingleStarts } from './start-singles.ts'

/** How long leased events belong to this node alone, in milliseconds: longer than starting them takes. When the node dies they wait for
 *  so long. An event that another node takes all the same is still started only once. */
export const leaseMs = 10_000

/** Events that have waited for longer travel in parcels, however few they are, in milliseconds. */
const maxSinglesAgeMs = 1_000

/** A turn of which many events waited is served in parcels for so long, also while few of its events wait, in milliseconds. */
const behindMs = 1_000

/** How long events of several turns are gathered for the next parcel after one that was not full, in milliseconds: it costs about as much
 *  with one event as with a hundred. */
const gatherMs = 50

/** Events that are leased together to be started on their own; more where no parcels are made. */
const singlesTogether = 16
const singlesBatch = 50

export interface TurnStarts {
  /** Starts the oldest events of these turns, as many as go together. @returns how many it saw to */
  start: (turns: readonly string[]) => Promise<number>
  /** Starts one event of each of these turns, to find out whether its endpoints answer. */
  probe: (turns: readonly string[]) => Promise<void>
  /** Sees to the oldest events that were cancelled, whatever their endpoints take: Temporal may have begun a delivery of one, which
   *  is cancelled then. @returns how many it came to */
  settleCancelled: () => Promise<number>
  /** Whether many events of the turn waited a moment ago, so that it is served in parcels. */
  isBehind: (turn: string) => boolean
  /** Whether no more events of the turn should be started now. */
  isBusy: (turn: string) => boolean
}

export interface TurnStartsDependencies {
  database: Database
  inboxTurns: Pick<InboxTurns, 'beginTaking'>
  singles: SingleStarts
  /** Undefined when events never share a workflow. */
  parcels: ParcelStarts | undefined
  /** Whether Temporal did not take the last event that it was given. */
  isResting: () => boolean
  /** Whether Temporal took an event a moment ago, and none in vain since. */
  isProven: () => boolean
  stopping: AbortSignal
}

export function createTurnStarts(dependencies: TurnStartsDependencies): TurnStarts {
  const { database, inboxTurns, singles, parcels, isResting, isProven, stopping } = dependencies
  /** Whether parcels may be made now. An event in a parcel cannot be cancelled before Temporal has it, so that a single event finds out
   *  first whether Temporal takes any. */
  const mayTravel = (): boolean => parcels !== undefined && isProven()
  const behind = createBehindTurns()
  const isBehind = (turn: string): boolean => mayTravel() && behind.has(turn)

  /** How many events of each turn are leased, of so many turns: where it is only one, nobody learns whether there are more. */
  const singlesOf = (turns: number): number => {
    if (isResting() || (parcels !== undefined && !isProven())) return 1
    const share = (parcels === undefined ? singlesBatch : singlesTogether) / turns
    return Math.min(parcels === undefined ? singlesBatch : maxSingles + 1, Math.max(2, Math.ceil(share)))
  }

  const startParcels = async (turns: readonly string[]): Promise<number> => {
    if (parcels === undefined || turns.length === 0) return 0
    const moved = await parcels.move(turns)
    for (const [turn, events] of moved) if (events > maxSingles) behind.note(turn)
    return [...moved.values()].reduce((sum, events) => sum + events, 0)
  }

  /** Gives leased events back to the inbox whose turns travel in parcels from now on. @returns the others */
  const withoutLate = async (events: readonly LeasedEvent[], turns: readonly string[]): Promise<LeasedEvent[]> => {
    const areMany = events.length > maxSingles
    const late = mayTravel() ? turns.filter((turn) => areMany || areLate(events.filter(isOf([turn])))) : []
    for (const turn of late) behind.note(turn)
    const back = events.filter(isOf(late)).map(({ seq }) => seq)
    if (back.length > 0) await releaseUntried(database, back)
    return events.filter((event) => !isOf(late)(event))
  }

  const startSingles = async (open: readonly string[]): Promise<number> => {
    if (open.length === 0) return 0
    const turns = open.slice(0, isResting() ? 1 : singlesTogether)
    const perTurn = singlesOf(turns.length)
    const noteEmptied = inboxTurns.beginTaking()
    const leased = await leaseFromInbox(database, turns, perTurn, leaseMs)
    const areStarted = await singles.start(await withoutLate(leased, turns), stopping)
    if (areStarted)
      for (const turn of turns) if (!isBehind(turn) && leased.filter(isOf([turn])).length < perTurn) noteEmptied(turn)
    return leased.length
  }

  return {
    async start(turns) {
      const areMany = turns.length > maxSingles && mayTravel()
      const together = turns.filter((turn) => areMany || isBehind(turn))
      const inParcels = await startParcels(together)
      const alone = await startSingles(turns.filter((turn) => !together.includes(turn)))
      if (together.length > 1 && inParcels < maxParcelEvents) await gather(stopping)
      return inParcels + alone
    },
    async probe(turns) {
      if (turns.length > 0) await singles.start(await leaseFromInbox(database, turns, 1, leaseMs), stopping)
    },
    async settleCancelled() {
      const cancelled = await leaseCancelled(database, singlesBatch, leaseMs)
      if (cancelled.length > 0) await singles.start(cancelled, stopping)
      return cancelled.length
    },
    isBehind,
    isBusy: (turn) => parcels?.isBusy(turn) === true,
  }
}

const gather = (stopping: AbortSignal): Promise<void> =>
  sleep(gatherMs, undefined, { signal: stopping }).catch(() => {})

/** The turns of which many events waited a moment ago. */
function createBehindTurns(): { note(turn: string): void; has(turn: string): boolean } {
  const until = new Map<string, number>()
  return {
    note(turn) {
      for (const [other, end] of until) if (end < performance.now()) until.delete(other)
      until.set(turn, performance.now() + behindMs)
    },
    has: (turn) => performance.now() < (until.get(turn) ?? 0),
  }
}

const isOf =
  (turns: readonly string[]) =>
  ({ input }: LeasedEvent): boolean =>
    turns.includes(turnIdOf(input))

const areLate = (events: readonly LeasedEvent[]): boolean =>
  events.some(({ receivedAt }) => Date.now() - receivedAt.getTime() > maxSinglesAgeMs)
