/** Starts the deliveries of what waits in the inbox: each event in a workflow of its own while few wait, in parcels otherwise. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { giveUpOverdue, leaseFromInbox, releaseInInbox, type LeasedEvent } from '../db/inbox.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { createPause } from '../pause.ts'
import { refusalText } from '../temporal/grpc-errors.ts'
import type { InboxTurns, NextTurns } from './inbox-turns.ts'
import { maxSingles, type ParcelStarts } from './start-parcels.ts'
import type { SingleStarts } from './start-singles.ts'

/** How long this node has events for itself: longer than starting them takes, and how long they lie when the node dies.
 *  Events that another node takes meanwhile are started once all the same. */
export const leaseMs = 10_000

/** Events that have waited for so long share workflows, however few they are, in milliseconds. */
const maxSinglesAgeMs = 1_000

/** For so long after more events waited parcels are made of fewer, too, in milliseconds. */
const behindMs = 1_000

/** Events of singles that are leased together where no parcels are made. */
const singlesBatch = 50

/** Pauses of a drainer that finds nothing to do, of one whose endpoints take no more, and of one that Temporal or the database
 *  failed, in milliseconds. */
const idlePauseMs = 1_000
const shutPauseMs = 100
const failurePauseMs = 1_000

/** Turns with endpoints of which nothing has come back that are seen to together, and those that are due for a probe: what they
 *  cost must leave room for the others. */
const trialsTogether = 4

/** How long the same turns go on while more events wait than are taken, in milliseconds. */
const turnsAgeMs = 250

/** How often events are looked for that waited for an endpoint for too long, in milliseconds, and how many are given up
 *  together. */
const overduePauseMs = 10_000
const overdueBatch = 10_000

export interface Drainer {
  /** Events have come: ends an idle pause. */
  wake: () => void
  /** Parcels can be started that could not before: ends a pause, too. */
  goOn: () => void
  /** Lets the starts under way finish; what was not started goes back. */
  stop(): Promise<void>
}

export interface DrainerDependencies {
  database: Database
  inboxTurns: Pick<InboxTurns, 'next'>
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
  /** What is in a parcel cannot be cancelled before Temporal has it: a single event finds out whether it takes any. */
  const mayTravel = (): boolean => parcels !== undefined && isProven()
  /** Until when parcels are made, however few events wait. */
  let behindUntil = -Infinity
  const isBehind = (): boolean => mayTravel() && performance.now() < behindUntil
  const noteBehind = (): void => void (behindUntil = performance.now() + behindMs)
  let overdueAt = 0
  let turns: NextTurns = { open: [], trial: [], probe: [], shut: [] }
  let turnsUntil = 0

  const sleepUnlessStopped = (ms: number): Promise<void> =>
    stopping.signal.aborted ? Promise.resolve() : sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})

  const startParcels = async (parcels: ParcelStarts, turns: readonly string[]): Promise<number> => {
    const moved = await parcels.move(turns)
    if (moved > maxSingles) noteBehind()
    return moved
  }

  /** @returns how many events it saw to */
  const startSingles = async (open: readonly string[], probe: readonly string[]): Promise<number> => {
    const atMost = parcels === undefined ? (isResting() ? 1 : singlesBatch) : isProven() ? maxSingles + 1 : 1
    const perTurn = Math.max(1, Math.floor(atMost / Math.max(1, open.length)))
    const events = [
      ...(await leaseFromInbox(database, probe, 1, leaseMs)),
      ...(await leaseFromInbox(database, open.slice(0, atMost), perTurn, leaseMs)),
    ]
    if (mayTravel() && areTooMany(events)) {
      await releaseInInbox(
        database,
        events.map(({ seq }) => seq),
      )
      noteBehind()
    } else await singles.start(events, stopping.signal)
    return events.length
  }

  const giveUp = async (shut: readonly string[]): Promise<void> => {
    if (performance.now() < overdueAt) return
    overdueAt = performance.now() + overduePauseMs
    for (const turn of shut) await giveUpOverdue(database, turn, windowMs, neverTaken, overdueBatch)
  }

  const readTurns = async (): Promise<NextTurns> => {
    if (isBehind() && turns.open.length + turns.trial.length === 1 && performance.now() < turnsUntil) return turns
    turns = await inboxTurns.next()
    turnsUntil = performance.now() + turnsAgeMs
    return turns
  }

  /** @returns how long to pause after it, in milliseconds */
  const round = async (): Promise<number> => {
    await parcels?.claimLost()
    const turns = await readTurns()
    await giveUp([...turns.shut, ...turns.probe])
    const areFree = (ids: readonly string[]): string[] => rotated(ids.filter((id) => parcels?.isBusy(id) !== true))
    const open = [...areFree(turns.open), ...areFree(turns.trial).slice(0, trialsTogether)]
    const inParcels = parcels !== undefined && open.length > 0 && isBehind() ? await startParcels(parcels, open) : 0
    const started = inParcels > 0 ? inParcels : await startSingles(open, rotated(turns.probe).slice(0, trialsTogether))
    if (started > 0) return 0
    return Object.values(turns).some((ids) => ids.length > 0) ? shutPauseMs : idlePauseMs
  }

  const failures = createFailureLog(logger, 'inbox.not_drained', refusalText)
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
      // They may be of another source.
      turnsUntil = 0
      pause.wake()
    },
    goOn: pause.wake,
    async stop() {
      stopping.abort()
      pause.wake()
      await Promise.all([parcels?.stop(), draining])
    },
  }
}

const neverTaken = 'not attempted: its endpoints were down for as long as it might be retried'

/** From another place each time, so that none is always first. */
function rotated(ids: readonly string[]): string[] {
  const first = Math.floor(Math.random() * ids.length)
  return [...ids.slice(first), ...ids.slice(0, first)]
}

const areTooMany = (events: readonly LeasedEvent[]): boolean =>
  events.length > maxSingles || events.some(({ receivedAt }) => Date.now() - receivedAt.getTime() > maxSinglesAgeMs)
