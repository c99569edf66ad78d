/** Empties the inbox round by round: looks whose turn is next, starts what their endpoints take, and pauses when there is nothing to do. */

import { setTimeout as sleep } from 'node:timers/promises'
import { createFailureLog, type FailureLog } from '../failure-log.ts'
import { wakeExpired } from '../db/user-lines.ts'
import type { Logger } from '../logger.ts'
import { createPause } from '../pause.ts'
import { refusalText } from '../temporal/grpc-errors.ts'
import { giveUpNowAndThen } from './give-up-overdue.ts'
import type { InboxTurns, NextTurns } from './inbox-turns.ts'
import { createTurnStarts, type TurnStarts, type TurnStartsDependencies } from './start-turns.ts'

/** Pauses in milliseconds: while the inbox is empty, while the endpoints of all that waits take nothing, and after Temporal or the database
 *  failed. */
const idlePauseMs = 1_000
const shutPauseMs = 100
const failurePauseMs = 1_000

/** A look at all turns is followed by a pause of so many times its length, so that looks take a tenth of the database's time at most. */
const pausePerLook = 9

/** How often events of users are looked for that have waited for others for as long as they may, in milliseconds, and how many go then. */
const expiredPauseMs = 500
const expiredTogether = 5_000

/** Turns whose endpoints are not known to answer that are served together, and as many that are due for a probe: their starts must leave
 *  Temporal free for the others. */
const trialsTogether = 4

/** How often it is looked for what was cancelled, in milliseconds. */
const settlePauseMs = 500

/** How long a look at the turns is used while only one of them has events to start, in milliseconds. */
const turnsAgeMs = 250

export interface Drainer {
  /** To be called when events were written to the inbox: ends a pause. */
  wake: () => void
  /** To be called when parcels of a turn can be started that could not before: ends a pause. */
  goOn: () => void
  /** Lets the starts under way finish; what was not started goes back. */
  stop(): Promise<void>
}

export interface DrainerDependencies extends Omit<TurnStartsDependencies, 'stopping' | 'inboxTurns'> {
  inboxTurns: Pick<InboxTurns, 'beginTaking' | 'next'>
  /** How long an event may wait for endpoints that are down, in milliseconds. */
  windowMs: number
  logger: Logger
}

export function runDrainer(dependencies: DrainerDependencies): Drainer {
  const { database, inboxTurns, parcels, windowMs, logger } = dependencies
  const stopping = new AbortController()
  const pause = createPause()
  const newFailureLog = () => createFailureLog(logger, 'inbox.not_drained', refusalText)
  const failures = newFailureLog()
  const starts = createTurnStarts({ ...dependencies, stopping: stopping.signal })
  const look = createLook(inboxTurns, starts)
  const trials = createSideWork(newFailureLog(), stopping.signal, tryEndpoints(starts, pause.wake))
  const settling = createSideWork(newFailureLog(), stopping.signal, settleNowAndThen(starts, stopping.signal))
  const giveUp = giveUpNowAndThen(database, windowMs)
  let expiredLookAt = 0

  const endWaits = async (): Promise<void> => {
    if (performance.now() < expiredLookAt) return
    expiredLookAt = performance.now() + expiredPauseMs
    await wakeExpired(database, expiredTogether)
  }

  /** @returns how long to pause after it, in milliseconds */
  const round = async (): Promise<number> => {
    await parcels?.claimLost()
    const begun = performance.now()
    const turns = await look.read()
    const lookMs = performance.now() - begun
    const isIdle = Object.values(turns).every((ids) => ids.length === 0)
    if (!isIdle) {
      await endWaits()
      settling.begin(turns)
    }
    await giveUp([...turns.shut, ...turns.probe])
    trials.begin(turns)
    const started = await starts.start(free(starts, turns.open))
    if (started > 0) return 0
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
        await pauseAfterFailure(stopping.signal)
      }
    }
  }

  const draining = drain()
  return {
    wake() {
      // The events may be of a turn that the last look did not see.
      look.forget()
      pause.wake()
    },
    goOn: pause.wake,
    async stop() {
      stopping.abort()
      pause.wake()
      await Promise.all([parcels?.stop(), draining, trials.over(), settling.over()])
    },
  }
}

/** Looks whose turn is next; while there is one alone, of which many events wait, a look is used for a moment. */
function createLook(inboxTurns: Pick<InboxTurns, 'next'>, { isBehind }: Pick<TurnStarts, 'isBehind'>) {
  let turns: NextTurns = { open: [], trial: [], probe: [], shut: [], full: [] }
  let usedUntil = 0
  const isOneFlood = ({ open: [only, ...others], trial }: NextTurns): boolean =>
    only !== undefined && others.length + trial.length === 0 && isBehind(only)

  return {
    async read(): Promise<NextTurns> {
      if (isOneFlood(turns) && performance.now() < usedUntil) return turns
      turns = await inboxTurns.next()
      usedUntil = performance.now() + turnsAgeMs
      return turns
    },
    forget: () => void (usedUntil = 0),
  }
}

const pauseAfterFailure = (stopping: AbortSignal): Promise<void> =>
  sleep(failurePauseMs, undefined, { signal: stopping }).catch(() => {})

/** Work that goes on beside the rounds, once at a time. It may fail while they work: its failures have a log and a pause of their own. */
function createSideWork(failures: FailureLog, stopping: AbortSignal, work: (turns: NextTurns) => Promise<void>) {
  let underWay: Promise<void> | undefined
  const run = async (turns: NextTurns): Promise<void> => {
    try {
      await work(turns)
      failures.worked()
    } catch (error) {
      failures.failed(error)
      await pauseAfterFailure(stopping)
    } finally {
      underWay = undefined
    }
  }

  return {
    begin: (turns: NextTurns): void => void (underWay ??= run(turns)),
    over: (): Promise<void> | undefined => underWay,
  }
}

/** Finds out whether endpoints answer, some at a time.
 *  @param onStarted  called when events were started that are not probes */
function tryEndpoints(starts: TurnStarts, onStarted: () => void) {
  const some = (turns: readonly string[]): string[] => free(starts, turns).slice(0, trialsTogether)
  return async ({ trial, probe }: NextTurns): Promise<void> => {
    const [started] = await Promise.all([starts.start(some(trial)), starts.probe(some(probe))])
    if (started > 0) onStarted()
  }
}

/** Sees to what was cancelled, which takes no turn. */
function settleNowAndThen(starts: TurnStarts, stopping: AbortSignal) {
  let nextAt = 0
  return async (): Promise<void> => {
    if (performance.now() < nextAt) return
    let found: number
    do found = await starts.settleCancelled()
    while (found > 0 && !stopping.aborted)
    nextAt = performance.now() + settlePauseMs
  }
}

/** Those of which more may be started, from another one on each time, so that none is always first. */
function free({ isBusy }: Pick<TurnStarts, 'isBusy'>, turns: readonly string[]): string[] {
  const ids = turns.filter((id) => !isBusy(id))
  const first = Math.floor(Math.random() * ids.length)
  return [...ids.slice(first), ...ids.slice(0, first)]
}
