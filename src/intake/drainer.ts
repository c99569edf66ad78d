/** Starts the deliveries of the events in a lane of the inbox at the speed that Temporal takes them. Sources take turns; the
 *  events of each start in order of arrival. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliverEventInput, SteeringTrace } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import { refuseInInbox, releaseInInbox, removeFromInbox, type Lane, type LeasedEvent } from '../db/inbox.ts'
import { settleCancelled } from '../db/inbox-steering.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { createPause } from '../pause.ts'
import { isRefusedForGood, refusalText } from '../temporal/grpc-errors.ts'
import type { IntakeCounter } from './fates.ts'
import { createInboxTurns } from './inbox-turns.ts'

/** How long this node has a batch for itself: longer than starting it takes, and how long it lies when the node dies. A
 *  batch that another node takes meanwhile is started once all the same. */
export const leaseMs = 10_000

/** How long after the lease began a start may begin, in milliseconds: it then ends within the lease, so that nobody takes or
 *  cancels an event while it is being started. */
const startableMs = leaseMs / 2

/** Pauses of an idle drainer, and of one that Temporal or the database failed, in milliseconds. */
const idlePauseMs = 1_000
const failurePauseMs = 1_000

export interface Drainer {
  /** An event of this source has come: ends an idle pause, and a batch that has none of it. */
  wake: (sourceId: string) => void
  /** Lets the starts under way finish; the rest of the batch goes back. */
  stop(): Promise<void>
}

export interface DrainerDependencies {
  database: Database
  lane: Lane
  /** Events taken at a time: few enough to be started within the lease. */
  batchSize: number
  start: (input: DeliverEventInput) => Promise<'started' | 'duplicate'>
  /** Cancels the delivery of an event; answers false when Temporal has none. */
  cancel: (input: DeliverEventInput, trace: SteeringTrace) => Promise<boolean>
  /** How many starts may be under way now. */
  limit: () => number
  /** How long to leave Temporal alone after a start that took `startMs`, both in milliseconds. */
  restMs: (input: DeliverEventInput, startMs: number) => number
  /** Whether an event comes after the others of its batch, and is the last one that is started of it. */
  isBehind: (input: DeliverEventInput) => boolean
  /** Resolves when the callers that wait for the inbox now have their answer: they come first. */
  giveWay: () => Promise<void>
  count: IntakeCounter
  logger: Logger
}

export function runDrainer(dependencies: DrainerDependencies): Drainer {
  const { database, lane, batchSize, start, cancel, limit, restMs, isBehind, giveWay, count, logger } = dependencies
  const stopping = new AbortController()
  const pause = createPause()
  const nextBatch = createInboxTurns(database, lane, batchSize, leaseMs)
  /** Those in the batch that is being started, and whether another one has come since. */
  let sources = new Set<string>()
  let hasNewcomer = false
  /** The fewer starts Temporal takes, the more one of them keeps the callers waiting, on one machine at least. */
  const turnsGiven = (): number => Math.ceil(4 / limit())

  const sleepUnlessStopped = (ms: number): Promise<void> =>
    stopping.signal.aborted ? Promise.resolve() : sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})

  /** @returns whether Temporal took it, now or before; otherwise it was refused for good, or is cancelled */
  const settle = async ({ seq, input, cancelled }: LeasedEvent): Promise<boolean> => {
    if (cancelled !== undefined) {
      // A start that nobody saw end, before it was cancelled, may have been one.
      await settleCancelled(database, seq, await cancel(input, cancelled))
      return false
    }
    try {
      count(await start(input), input.sourceId, 1)
      return true
    } catch (error) {
      if (!isRefusedForGood(error)) throw error
      const reason = refusalText(error as Error)
      logger.error({ messageId: input.messageId, error: reason }, 'inbox.refused')
      await refuseInInbox(database, seq, reason)
      return false
    }
  }

  /** @param isUp  whether to leave the rest for now */
  const startBatch = async (batch: LeasedEvent[], isUp: () => boolean): Promise<void> => {
    const queue = [...batch.filter(({ input }) => !isBehind(input)), ...batch.filter(({ input }) => isBehind(input))]
    const open = new Set(batch.map(({ seq }) => seq))
    const started: string[] = []
    let failure: Error | undefined
    let isOver = false
    /** @param place  among those who work side by side: the last ones end when there are too many */
    const work = async (_: unknown, place: number): Promise<void> => {
      while (place < limit() && failure === undefined && !isOver && !isUp() && !stopping.signal.aborted) {
        for (let turn = 0; turn < turnsGiven(); turn++) await giveWay()
        const event = queue.shift()
        if (event === undefined) return
        isOver = isBehind(event.input)
        const begun = performance.now()
        try {
          if (await settle(event)) started.push(event.seq)
          open.delete(event.seq)
          const rest = restMs(event.input, performance.now() - begun)
          if (rest > 0) await sleepUnlessStopped(rest)
        } catch (error) {
          failure ??= error as Error
        }
      }
    }
    await Promise.all(Array.from({ length: limit() }, work))
    if (started.length > 0) await removeFromInbox(database, started)
    if (open.size > 0) await releaseInInbox(database, [...open])
    if (failure !== undefined) throw failure
  }

  const failures = createFailureLog(logger, 'inbox.not_drained', refusalText)
  const drain = async (): Promise<void> => {
    let wasCutShort = false
    while (!stopping.signal.aborted) {
      try {
        hasNewcomer = false
        const begun = performance.now()
        const batch = await nextBatch()
        sources = new Set(batch.map(({ input }) => input.sourceId))
        // Each second batch runs to its end: those who have much waiting get on, however many newcomers there are.
        const mayBeCutShort = !wasCutShort
        const isCutShort = (): boolean => mayBeCutShort && hasNewcomer
        if (batch.length > 0) await startBatch(batch, () => isCutShort() || performance.now() - begun > startableMs)
        else await pause.wait(idlePauseMs)
        wasCutShort = isCutShort()
        failures.worked()
      } catch (error) {
        failures.failed(error)
        await sleepUnlessStopped(failurePauseMs)
      }
    }
  }

  const draining = drain()
  return {
    wake(sourceId) {
      if (!sources.has(sourceId)) hasNewcomer = true
      pause.wake()
    },
    async stop() {
      stopping.abort()
      pause.wake()
      await draining
    },
  }
}
