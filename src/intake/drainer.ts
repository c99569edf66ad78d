/** Starts the deliveries of what waits in the inbox: each event in a workflow of its own while few wait, in parcels otherwise. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { giveUpOverdue, leaseFromInbox, releaseInInbox, turnIdOf, type LeasedEvent } from '../db/inbox.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { createPause } from '../pause.ts'
import { refusalText } from '../temporal/grpc-errors.ts'
import type { InboxTurns, NextTurns } from './inbox-turns.ts'
import { maxSingles, type ParcelStarts } from './start-parcels.ts'
import type { SingleStarts } from './start-singles.ts'

/** How long leased events belong to this node alone, in milliseconds: longer than starting them takes. When the node dies they wait for
 *  so long. An event that another node takes all the same is still started only once. */
export const leaseMs = 10_000

/** Events that have waited for longer travel in parcels, however few they are, in milliseconds. */
const maxSinglesAgeMs = 1_000

/** A turn of which many events waited is served in parcels for so long, also while few of its events wait, in milliseconds. */
const behindMs = 1_000

/** Events that are leased together to be started on their own; more where no parcels are made. */
const singlesTogether = 16
const singlesBatch = 50

/** Pauses in milliseconds: while the inbox is empty, while the endpoints of all that waits take nothing, and after Temporal or the database
 *  failed. */
const idlePauseMs = 1_000
const shutPauseMs = 100
const failurePauseMs = 1_000

/** A look at all turns is followed by a pause of so many times its length, so that looks take a tenth of the database's time at most. */
const pausePerLook = 9

/** Turns whose endpoints are not known to answer that are served together, and as many that are due for a probe: their starts must leave
 *  Temporal free for the others. */
const trialsTogether = 4

/** How long a look at the turns is used while only one of them has events to start, in milliseconds. */
const turnsAgeMs = 250

/** How often the drainer looks for events that waited for an endpoint for too long, in milliseconds, and how many it gives up together. */
const overduePauseMs = 10_000
const overdueBatch = 10_000

export interface Drainer {
  /** To be called when events were written to the inbox: ends a pause. */
  wake: () => void
  /** To be called when parcels of a turn can be started that could not before: ends a pause. */
  goOn: () => void
  /** Lets the starts under way finish; what was not started goes back. */
  stop(): Promise<void>
}

export interface DrainerDependencies {
  database: Database
  inboxTurns: Pick<InboxTurns, 'beginTaking' | 'next'>
  singles: SingleStarts
  /** Undefined when events never share a workflow. */
  parcels: ParcelStarts | undefined
  /** Whether Temporal did not take the last event that it was given. */
  isResting: () => boolean
  /** Whether Temporal took an event a moment ago, and none in vain since. */
  isProven: () => boolean
  /** How long an event may wait for endpoints that are down, in milliseconds. */
  windowMs: number
  logger: Logger
}

export function runDrainer(dependencies: DrainerDependencies): Drainer {
  const { database, inboxTurns, singles, parcels, isResting, isProven, windowMs, logger } = dependencies
  const stopping = new AbortController()
  const pause = createPause()
  /** Whether parcels may be made now. An event in a parcel cannot be cancelled before Temporal has it, so that a single event finds out
   *  first whether Temporal takes any. */
  const mayTravel = (): boolean => parcels !== undefined && isProven()
  /** By turn: until when parcels are made of its events, however few wait. */
  const behindUntil = new Map<string, number>()
  const isBehind = (turn: string): boolean => mayTravel() && performance.now() < (behindUntil.get(turn) ?? 0)
  const noteBehind = (turn: string): void => {
    for (const [other, until] of behindUntil) if (until < performance.now()) behindUntil.delete(other)
    behindUntil.set(turn, performance.now() + behindMs)
  }
  let overdueAt = 0
  let turns: NextTurns = { open: [], trial: [], probe: [], shut: [] }
  let turnsUntil = 0
  let trying: Promise<void> | undefined
  const failures = createFailureLog(logger, 'inbox.not_drained', refusalText)

  const sleepUnlessStopped = (ms: number): Promise<void> =>
    stopping.signal.aborted ? Promise.resolve() : sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})

  const startParcels = async (parcels: ParcelStarts, turns: readonly string[]): Promise<number> => {
    if (turns.length === 0) return 0
    const moved = await parcels.move(turns)
    for (const [turn, events] of moved) if (events > maxSingles) noteBehind(turn)
    return [...moved.values()].reduce((sum, events) => sum + events, 0)
  }

  /** How many events of each turn are leased, of so many turns: where it is only one, nobody learns whether there are more. */
  const singlesOf = (turns: number): number => {
    if (isResting() || (parcels !== undefined && !isProven())) return 1
    const share = (parcels === undefined ? singlesBatch : singlesTogether) / turns
    return Math.min(parcels === undefined ? singlesBatch : maxSingles + 1, Math.max(2, Math.ceil(share)))
  }

  /** Gives leased events back to the inbox whose turns travel in parcels from now on. @returns the others */
  const withoutLate = async (events: readonly LeasedEvent[], turns: readonly string[]): Promise<LeasedEvent[]> => {
    const late = mayTravel() ? turns.filter((turn) => areTooMany(events.filter(isOf(turn)))) : []
    for (const turn of late) noteBehind(turn)
    const [back, others] = [events.filter(isOfSome(late)), events.filter((event) => !isOfSome(late)(event))]
    if (back.length > 0)
      await releaseInInbox(
        database,
        back.map(({ seq }) => seq),
      )
    return others
  }

  /** @returns how many events it saw to */
  const startSingles = async (open: readonly string[]): Promise<number> => {
    if (open.length === 0) return 0
    const turns = open.slice(0, isResting() ? 1 : singlesTogether)
    const perTurn = singlesOf(turns.length)
    const noteEmptied = inboxTurns.beginTaking()
    const leased = await leaseFromInbox(database, turns, perTurn, leaseMs)
    const events = await withoutLate(leased, turns)
    const areStarted = await singles.start(events, stopping.signal)
    if (areStarted)
      for (const turn of turns) if (!isBehind(turn) && leased.filter(isOf(turn)).length < perTurn) noteEmptied(turn)
    return leased.length
  }

  const start = async (turns: readonly string[]): Promise<number> =>
    (parcels === undefined ? 0 : await startParcels(parcels, turns.filter(isBehind))) +
    (await startSingles(turns.filter((turn) => !isBehind(turn))))

  const probe = async (turns: readonly string[]): Promise<void> => {
    if (turns.length > 0) await singles.start(await leaseFromInbox(database, turns, 1, leaseMs), stopping.signal)
  }

  const free = (turns: readonly string[]): string[] => rotated(turns.filter((id) => parcels?.isBusy(id) !== true))
  const some = (turns: readonly string[]): string[] => free(turns).slice(0, trialsTogether)

  /** Begins to find out whether endpoints answer, some at a time; the drainer goes on meanwhile. */
  const beginTrials = (turns: NextTurns): void => {
    trying ??= Promise.all([start(some(turns.trial)), probe(some(turns.probe))])
      .then(([started]) => started > 0 && pause.wake())
      .catch((error: unknown) => failures.failed(error))
      .finally(() => (trying = undefined))
      .then(() => undefined)
  }

  const giveUp = async (shut: readonly string[]): Promise<void> => {
    if (performance.now() < overdueAt) return
    overdueAt = performance.now() + overduePauseMs
    for (const turn of shut) await giveUpOverdue(database, turn, windowMs, neverTaken, overdueBatch)
  }

  const readTurns = async (): Promise<NextTurns> => {
    const [only, ...others] = turns.open
    if (
      only !== undefined &&
      others.length + turns.trial.length === 0 &&
      isBehind(only) &&
      performance.now() < turnsUntil
    )
      return turns
    turns = await inboxTurns.next()
    turnsUntil = performance.now() + turnsAgeMs
    return turns
  }

  /** @returns how long to pause after it, in milliseconds */
  const round = async (): Promise<number> => {
    await parcels?.claimLost()
    const begun = performance.now()
    const turns = await readTurns()
    const lookMs = performance.now() - begun
    await giveUp([...turns.shut, ...turns.probe])
    beginTrials(turns)
    const started = await start(free(turns.open))
    if (started > 0) return 0
    const isIdle = Object.values(turns).every((ids) => ids.length === 0)
    return isIdle ? idlePauseMs : Math.max(shutPauseMs, pausePerLook * lookMs)
  }

  const drain = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const pauseMs = await round()
        failures.worked()
        if (pauseMs > 0) await pause.wait(pauseMs)
      } catch (error) {
        failures.failed(error)
        await sleepUnlessStopped(failurePauseMs)
      }
    }
  }

  const draining = drain()
  return {
    wake() {
      // The events may be of a turn that the last look did not see.
      turnsUntil = 0
      pause.wake()
    },
    goOn: pause.wake,
    async stop() {
      stopping.abort()
      pause.wake()
      await Promise.all([parcels?.stop(), draining, trying])
    },
  }
}

const neverTaken = 'not attempted: its endpoints were down for as long as it might be retried'

/** Returns the turns in the same order, but from another one on each time, so that none is always first. */
function rotated(ids: readonly string[]): string[] {
  const first = Math.floor(Math.random() * ids.length)
  return [...ids.slice(first), ...ids.slice(0, first)]
}

const isOf = (turn: string) => isOfSome([turn])

const isOfSome =
  (turns: readonly string[]) =>
  ({ input }: LeasedEvent): boolean =>
    turns.includes(turnIdOf(input))

const areTooMany = (events: readonly LeasedEvent[]): boolean =>
  events.length > maxSingles || events.some(({ receivedAt }) => Date.now() - receivedAt.getTime() > maxSinglesAgeMs)
