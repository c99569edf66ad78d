/** What an operator does to one event of the inbox. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import { refuseInInbox, releaseInInbox, removeFromInbox, type LeasedEvent } from '../db/inbox.ts'
import { findQueued } from '../db/inbox-list.ts'
import { cancelInInbox, claimInInbox } from '../db/inbox-steering.ts'
import { AppError } from '../errors.ts'
import { isRefusedForGood, refusalText } from '../temporal/grpc-errors.ts'
import type { QueuedSteering } from '../temporal/steering.ts'
import { leaseMs } from './start-turns.ts'
import type { IntakeCounter } from './event-ledger.ts'

/** How long a node that has the event is waited for, in milliseconds: longer than it may have it. */
const waitLimitMs = leaseMs + 2_000
const waitPauseMs = 100
const retryAfterSeconds = 5

export interface QueuedSteeringDependencies {
  database: Database
  start: (input: DeliverEventInput) => Promise<'started' | 'duplicate'>
  count: IntakeCounter
}

export function createQueuedSteering({ database, start, count }: QueuedSteeringDependencies): QueuedSteering {
  /** Tries until no node has the event any more.
   *  @returns what `take` gave; `started` when a node started it meanwhile; undefined when there is no such event */
  const whenFree = async <Taken>(
    deliveryId: string,
    take: () => Promise<Taken | undefined | false>,
  ): Promise<Taken | 'started' | undefined> => {
    const deadline = performance.now() + waitLimitMs
    for (let wasThere = false; ; wasThere = true) {
      const taken = await take()
      if (taken !== undefined && taken !== false) return taken
      const event = await findQueued(database, deliveryId)
      if (event === undefined) return wasThere ? 'started' : undefined
      if (event.cancelled !== undefined)
        throw new AppError('conflict', 'the event was cancelled: redeliver it to send it all the same')
      if (performance.now() > deadline)
        throw new AppError('unavailable', 'the delivery is about to begin, which takes longer than usual', {
          retryAfterSeconds,
        })
      await sleep(waitPauseMs)
    }
  }

  const startClaimed = async ({ seq, input }: LeasedEvent): Promise<'started' | 'queued'> => {
    try {
      count(await start(input), input.sourceId, 1)
    } catch (error) {
      if (!isRefusedForGood(error)) {
        await releaseInInbox(database, [seq])
        return 'queued'
      }
      const reason = refusalText(error as Error)
      await refuseInInbox(database, seq, reason)
      throw new AppError('conflict', `Temporal refuses it: ${reason}`, { cause: error })
    }
    await removeFromInbox(database, [seq])
    return 'started'
  }

  return {
    async retry(deliveryId) {
      const claimed = await whenFree(deliveryId, () => claimInInbox(database, deliveryId, leaseMs))
      return typeof claimed === 'object' ? startClaimed(claimed) : claimed
    },
    async cancel(deliveryId, trace) {
      const became = await whenFree(deliveryId, () => cancelInInbox(database, deliveryId, trace))
      return became === true ? 'cancelled' : undefined
    },
    async find(deliveryId) {
      const event = await findQueued(database, deliveryId)
      return (
        event && {
          input: event.input,
          since: event.receivedAt,
          isOver: (event.cancelled ?? event.refusal) !== undefined,
        }
      )
    },
  }
}
