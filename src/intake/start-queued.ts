/** Starts the delivery of one event in the inbox ahead of its turn, for those who have something to do with it. */

import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { Database } from '../db/database.ts'
import { findQueued, removeFromInbox } from '../db/inbox.ts'
import type { SteeringDependencies } from '../temporal/steering.ts'
import type { IntakeCounter } from './fates.ts'

/** The event is taken out last: whoever dies before that leaves it to be found and done again.
 *  @param act  is called when the delivery has started
 *  @returns false when no event waits under that id, or Temporal refused it for good */
export const createStartQueued =
  (dependencies: {
    database: Database
    start: (input: DeliverEventInput) => Promise<'started' | 'duplicate'>
    count: IntakeCounter
  }): SteeringDependencies['startQueued'] =>
  async (deliveryId, act) => {
    const { database, start, count } = dependencies
    const event = await findQueued(database, deliveryId)
    if (event === undefined || event.refusal !== undefined) return false
    count(await start(event.input), event.input.sourceId, 1)
    await act()
    await removeFromInbox(database, [event.seq])
    return true
  }
