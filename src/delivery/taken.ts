/** What endpoints took from this node a short while ago. A workflow or activity task that was too late for Temporal is given
 *  out again although its attempt was made: then the outcome is answered once more, and not the request sent. */

import { LRUCache } from 'lru-cache'
import type { AttemptOutcome } from '../contracts/delivery.ts'

/** Most endpoints' answers that are remembered: far more than a node has under way between an attempt and its report. */
const maxRemembered = 10_000

/** Makes an attempt unless the endpoint took the event a short while ago.
 *  @param key  names the event's delivery and the endpoint: an endpoint that took something under a key gets nothing more under it
 *  @param attempt  is not called for what was taken, and waits for an attempt under way */
export type UnlessTaken = (key: string, attempt: () => Promise<AttemptOutcome>) => Promise<AttemptOutcome>

export function createUnlessTaken(): UnlessTaken {
  const attempts = new LRUCache<string, Promise<AttemptOutcome>>({ max: maxRemembered })

  return async (key, attempt) => {
    const earlier = await attempts.get(key)?.catch(() => undefined)
    if (earlier?.kind === 'delivered') return earlier
    const own = attempt()
    attempts.set(key, own)
    return own
  }
}
