/** Walks the events of the inbox that a bulk steering acts on, oldest first. */

import { Context } from '@temporalio/activity'
import type { SteeringTrace } from '../src/contracts/delivery.ts'
import type { SteeringOrder, SteeringProgress } from '../src/contracts/steering.ts'
import type { Database } from '../src/db/database.ts'
import { cancelOldestInInbox, oldestEndedInInbox } from '../src/db/inbox-steering.ts'
import type { DeliveryFilter } from '../src/schemas/delivery.ts'
import type { Steering } from '../src/temporal/steering.ts'
import { counted, steerGroup, stopIfAsked } from './steer-group.ts'

/** Events that are read together. Their cancellation is one statement: an outage leaves more than could be cancelled one by one. */
const together = 1_000

/** What is done to events of the inbox with all that match. */
export type InboxOrder = Extract<SteeringOrder, { action: 'cancel' | 'redeliver' }>

interface InboxWalk {
  order: InboxOrder
  filter: DeliveryFilter
  /** Whether what leaves the inbox meanwhile is looked for afterwards. */
  isFollowed: boolean
  trace: SteeringTrace
}

export async function steerInbox(
  { database, steering }: { database: Database; steering: Steering },
  { order, filter, isFollowed, trace }: InboxWalk,
  progress: SteeringProgress,
): Promise<void> {
  const next = async (): Promise<{ seq: string; workflowId: string; isCancelled?: boolean }[]> =>
    order.action === 'cancel'
      ? cancelOldestInInbox(database.patient, filter, trace, progress.queued, together)
      : oldestEndedInInbox(database.patient, filter, progress.queued, together)

  const steer = async (deliveryId: string): Promise<void> => {
    if (order.action === 'redeliver') await counted(progress, steering.carryOut(order, deliveryId, trace))
    // A node is about to start it.
    else if (!isFollowed) await counted(progress, steering.cancel(deliveryId, trace))
    else await counted(progress, steering.cancelQueued(deliveryId, trace))
  }

  for (let events = await next(); events.length > 0; events = await next()) {
    progress.done += events.filter(({ isCancelled }) => isCancelled).length
    const others = events.filter(({ isCancelled }) => isCancelled !== true)
    await steerGroup(progress, others, async (few) => {
      await Promise.all(few.map(({ workflowId }) => steer(workflowId)))
    })
    const last = events.at(-1)
    if (last !== undefined) progress.queued = last.seq
    Context.current().heartbeat(progress)
    stopIfAsked(progress)
  }
}
