/** `postrider deliveries tail`: polls, as a node tells only of its own events. */

import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Delivery, DeliveryFilter } from '../schemas/delivery.ts'
import type { Api } from './shared/api.ts'
import { deliveryLine } from './shared/delivery-text.ts'
import { CommandError } from './shared/failure.ts'
import { listAll } from './shared/lookup.ts'
import type { Output } from './shared/output.ts'
import { stopSignal } from './shared/stop-signal.ts'

const pauseMs = 1_000

/** The newest deliveries that are followed; older ones are no longer looked at. */
const followed = 1_000

/** Prints deliveries that match, from now on unless the filter says since when, again whenever their state changes.
 *  A node that is away for a while, or a part of it, is waited for. */
export async function tail(api: Api, out: Output, filter: DeliveryFilter): Promise<void> {
  const stop = stopSignal()
  const since = filter.since ?? new Date().toISOString()
  const seen = new LRUCache<string, string>({ max: 2 * followed })
  let isAway = false
  out.note('Showing deliveries from now on. Stop with Ctrl-C.')
  for (let first = true; !stop.aborted; first = false) {
    try {
      const newest = await listAll(
        (page) => api.GET('/deliveries', { params: { query: { ...filter, since, ...page } } }),
        followed,
      )
      for (const delivery of newest.reverse()) {
        const state = stateOf(delivery)
        if (seen.get(delivery.id) !== state) out.item(delivery, deliveryLine)
        seen.set(delivery.id, state)
      }
      isAway = false
    } catch (error) {
      if (first || !(error instanceof CommandError) || error.exit !== 'unreachable') throw error
      if (!isAway) out.note(`${error.message}; waiting …`)
      isAway = true
    }
    await sleep(pauseMs, undefined, { signal: stop }).catch(() => {})
  }
}

const stateOf = ({ status, attempts, reason }: Delivery): string => JSON.stringify([status, attempts, reason])
