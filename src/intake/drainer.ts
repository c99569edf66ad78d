/** Empties the inbox round by round: looks whose turn is next, starts what their endpoints take, and pauses when there is nothing to do. */

import { setTimeout as sleep } from 'node:timers/promises'
import { createFailureLog } from '../failure-log.ts'
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
  const failures = createFailureLog(logger, 'inbox.not_drained', refusalText)
  const starts = createTurnStarts({ ...dependencies, stopping: stopping.signal })
  const look = createLook(inboxTurns, starts)
  const trials = createTrials(starts, pause.wake, failures.failed)
  const settling = createSettling(starts, stopping.signal, failures.failed)
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
      settling.begin()
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
        await sleep(failurePauseMs, undefined, { signal: stopping.signal }).catch(() => {})
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

/** Finds out whether endpoints answer, some at a time; the drainer goes on meanwhile.
 *  @param onStarted  called when events were started that are not probes */
function createTrials(starts: TurnStarts, onStarted: () => void, onFailed: (error: unknown) => void) {
  let trying: Promise<void> | undefined
  const some = (turns: readonly string[]): string[] => free(starts, turns).slice(0, trialsTogether)
  const tryThem = async ({ trial, probe }: NextTurns): Promise<void> => {
    try {
      const [started] = await Promise.all([starts.start(some(trial)), starts.probe(some(probe))])
      if (started > 0) onStarted()
    } catch (error) {
      onFailed(error)
    } finally {
      trying = undefined
    }
  }

  return {
    begin: (turns: NextTurns): void => void (trying ??= tryThem(turns)),
    over: (): Promise<void> | undefined => trying,
  }
}

/** Sees to what was cancelled, which takes no turn; the drainer goes on meanwhile. */
function createSettling(starts: TurnStarts, stopping: AbortSignal, onFailed: (error: unknown) => void) {
  let settling: Promise<void> | undefined
  let nextAt = 0
  const settle = async (): Promise<void> => {
    try {
      let found: number
      do found = await starts.settleCancelled()
      while (found > 0 && !stopping.aborted)
    } catch (error) {
      onFailed(error)
    } finally {
      nextAt = performance.now() + settlePauseMs
      settling = undefined
    }
  }

  return {
    begin(): void {
      if (performance.now() >= nextAt) settling ??= settle()
    },
    over: (): Promise<void> | undefined => settling,
  }
}

/** Those of which more may be started, from another one on each time, so that none is always first. */
function free({ isBusy }: Pick<TurnStarts, 'isBusy'>, turns: readonly string[]): string[] {
  const ids = turns.filter((id) => !isBusy(id))
  const first = Math.floor(Math.random() * ids.length)
  return [...ids.slice(first), ...ids.slice(0, first)]
}
