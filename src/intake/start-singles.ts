/** Starts events of the inbox in workflows of their own. */

import type { DeliverEventInput, SteeringTrace } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import { refuseInInbox, releaseInInbox, releaseUntried, removeFromInbox, type LeasedEvent } from '../db/inbox.ts'
import { settleCancelled } from '../db/inbox-steering.ts'
import { isInLine, leaveLinesOfRepeats } from '../db/user-lines.ts'
import type { Logger } from '../logger.ts'
import { isRefusedForGood, refusalText } from '../temporal/grpc-errors.ts'
import type { IntakeCounter } from './event-ledger.ts'

/** How long after the lease began a start may begin, in milliseconds: it then ends within the lease, so that nobody takes or
 *  cancels an event while it is being started. */
const startableMs = 5_000

export interface SingleStarts {
  /** Starts leased events in their order, some at a time; those that it does not get to go back to the inbox.
   *  @returns whether it got to all
   *  @throws when Temporal or the database does not take one */
  start(events: readonly LeasedEvent[], stopping: AbortSignal): Promise<boolean>
}

export interface SingleStartsDependencies {
  database: Database
  start: (input: DeliverEventInput) => Promise<'started' | 'duplicate'>
  /** Cancels the delivery of an event; answers false when Temporal has none. */
  cancel: (input: DeliverEventInput, trace: SteeringTrace) => Promise<boolean>
  /** How many starts may be under way now. */
  limit: () => number
  /** Resolves when the callers that wait for the inbox now have their answer: they come first. */
  giveWay: () => Promise<unknown>
  count: IntakeCounter
  logger: Logger
}

export function createSingleStarts(dependencies: SingleStartsDependencies): SingleStarts {
  const { database, start, cancel, limit, giveWay, count, logger } = dependencies
  /** How many groups of callers get their answer before each start. The fewer starts Temporal takes side by side, the longer each one lets
   *  callers wait, where both share a machine. */
  const turnsGiven = (): number => Math.ceil(4 / limit())

  /** @returns whether Temporal took the event, now or before; if not, the event was refused for good, or is cancelled */
  const startOrRefuse = async ({ seq, input, cancelled }: LeasedEvent): Promise<boolean> => {
    if (cancelled !== undefined) {
      // A start before the cancellation, whose end nobody saw, may have made a delivery.
      await settleCancelled(database, seq, await cancel(input, cancelled))
      return false
    }
    try {
      const became = await start(input)
      count(became, input.sourceId, 1)
      if (became === 'started' && input.isOutOfOrder) count('out_of_order', input.sourceId, 1)
      if (became === 'duplicate' && isInLine(input)) await leaveLinesOfRepeats(database, [seq])
      return true
    } catch (error) {
      if (!isRefusedForGood(error)) throw error
      const reason = refusalText(error as Error)
      logger.error({ sourceId: input.sourceId, error: reason }, 'delivery.refused')
      await refuseInInbox(database, seq, reason)
      return false
    }
  }

  return {
    async start(events, stopping) {
      const begun = performance.now()
      const queue = [...events]
      const started: string[] = []
      const failed: string[] = []
      let failure: Error | undefined
      const isOver = (): boolean => failure !== undefined || stopping.aborted || performance.now() - begun > startableMs
      /** One of the workers side by side.
       *  @param place  its number, from 0: the last workers end when there are too many */
      const work = async (_: unknown, place: number): Promise<void> => {
        while (place < limit() && !isOver()) {
          for (let turn = 0; turn < turnsGiven(); turn++) await giveWay()
          const event = queue.shift()
          if (event === undefined) return
          try {
            if (await startOrRefuse(event)) started.push(event.seq)
          } catch (error) {
            failed.push(event.seq)
            failure ??= error as Error
          }
        }
      }
      await Promise.all(Array.from({ length: limit() }, work))
      if (started.length > 0) await removeFromInbox(database, started)
      if (failed.length > 0) await releaseInInbox(database, failed)
      if (queue.length > 0) await releaseUntried(database, seqsOf(queue))
      if (failure !== undefined) throw failure
      return queue.length === 0
    },
  }
}

const seqsOf = (events: readonly LeasedEvent[]): string[] => events.map(({ seq }) => seq)
