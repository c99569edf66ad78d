/** Attempts that have ended, and whose report may not have come to Temporal yet: of a node that stands still in that moment, it comes too
 *  late. */

import type { Attempt } from '../contracts/delivery.ts'
import type { Standstills } from './standstills.ts'

const lookPauseMs = 1_000

/** How long after its end an attempt may wait for its report: a workflow task reports after 8 s, although other attempts of the same
 *  event are under way. */
const reportLimitMs = 10_000

/** Most attempts that are remembered; of more, the latest. */
const maxRemembered = 10_000

interface Ended {
  deliveryId: string
  attempt: Attempt
  /** In milliseconds since 1970. */
  endedAt: number
}

export interface UnreportedAttempts {
  note(this: void, deliveryId: string, attempt: Attempt): void
  stop(): void
}

/** @param keepLate  called for each attempt whose report a standstill may have held up */
export function watchUnreported(
  standstills: Pick<Standstills, 'since'>,
  keepLate: (deliveryId: string, attempt: Attempt) => void,
): UnreportedAttempts {
  let ended: Ended[] = []
  let lookedAt = Date.now()

  const look = (): void => {
    const since = lookedAt
    lookedAt = Date.now()
    if (standstills.since(since)) {
      for (const { deliveryId, attempt } of ended) keepLate(deliveryId, attempt)
      ended = []
      return
    }
    const firstOpen = ended.findIndex(({ endedAt }) => endedAt > lookedAt - reportLimitMs)
    ended = firstOpen === -1 ? [] : ended.slice(firstOpen)
  }
  const timer = setInterval(look, lookPauseMs).unref()

  return {
    note(deliveryId, attempt) {
      if (ended.length === maxRemembered) ended.shift()
      ended.push({ deliveryId, attempt, endedAt: Date.now() })
    },
    stop() {
      clearInterval(timer)
      look()
    },
  }
}
