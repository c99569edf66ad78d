/** How a node starts deliveries: each start is watched, wherever the event comes from. */

import { LRUCache } from 'lru-cache'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import { createDirectSlots, type DirectSlots } from '../intake/direct-slots.ts'
import { createStartPace, type StartPace } from '../intake/start-pace.ts'
import type { Logger } from '../logger.ts'
import type { Temporal } from '../temporal/connection.ts'
import { createNamespaceRepair } from '../temporal/repair-namespace.ts'

export interface Starts {
  /** Starts one delivery.
   *  @param limitMs  how long it may take, where not as long as usual
   *  @throws when Temporal does not take it */
  start: (input: DeliverEventInput, limitMs?: number) => Promise<'started' | 'duplicate'>
  /** Whether this node started a delivery of this id a moment ago: Temporal's lists are a moment behind. */
  wasStartedLately: (deliveryId: string) => boolean
  slots: DirectSlots
  pace: Pick<StartPace, 'limit'>
  stop(): Promise<void>
}

/** @param startDelivery  hands an event to Temporal */
export function composeStarts(startDelivery: Starts['start'], temporal: Temporal, logger: Logger): Starts {
  const pace = createStartPace()
  const slots = createDirectSlots(pace)
  const repair = createNamespaceRepair(temporal, logger)
  const startedLately = new LRUCache<string, true>({ max: 10_000, ttl: 30_000 })
  const startOne: Starts['start'] = async (input, limitMs) => {
    const became = await startDelivery(input, limitMs)
    startedLately.set(eventWorkflowId(input.sourceId, input.messageId), true)
    return became
  }
  return {
    start: slots.watch(pace.watch(repair.watch(startOne))),
    wasStartedLately: (deliveryId) => startedLately.has(deliveryId),
    slots,
    pace,
    stop: () => repair.stop(),
  }
}
