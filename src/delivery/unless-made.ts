/** What came of attempts that this node made a short while ago. A workflow or activity task that was too late for Temporal is
 *  given out again although its attempt was made: then the outcome is answered once more, and not the request sent. */

import { LRUCache } from 'lru-cache'
import type { Attempt, AttemptOutcome } from '../contracts/delivery.ts'

/** Most outcomes that are remembered: far more than a node has under way between an attempt and its report. */
const maxRemembered = 10_000

/** One attempt that is to be made. */
export interface AttemptOrder {
  /** Names the event's delivery and the endpoint: an endpoint that took something under it gets nothing more under it. */
  delivery: string
  /** The activity that asks for it; a task that is given out again asks by the same id. */
  activityId: string
  /** Whether an earlier try of the activity has told of this attempt. */
  isTold: (attempt: Attempt) => boolean
}

/** Makes an attempt unless one was made a short while ago that the endpoint took, or of which nobody was told.
 *  @param attempt  is not called where such an outcome is known, and waits for an attempt under way */
export type UnlessMade = (order: AttemptOrder, attempt: () => Promise<AttemptOutcome>) => Promise<AttemptOutcome>

interface Made {
  activityId: string
  outcome: Promise<AttemptOutcome>
}

export function createUnlessMade(): UnlessMade {
  const latest = new LRUCache<string, Made>({ max: maxRemembered })

  return async ({ delivery, activityId, isTold }, attempt) => {
    const made = latest.get(delivery)
    const earlier = await made?.outcome.catch(() => undefined)
    if (earlier?.kind === 'delivered') return earlier
    if (earlier !== undefined && made?.activityId === activityId && isUntold(earlier, isTold)) return earlier
    const outcome = attempt()
    latest.set(delivery, { activityId, outcome })
    return outcome
  }
}

const isUntold = (outcome: AttemptOutcome, isTold: AttemptOrder['isTold']): boolean =>
  'attempt' in outcome && outcome.attempt !== undefined && !isTold(outcome.attempt)
