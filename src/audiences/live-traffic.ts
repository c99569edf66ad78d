/** Live events go first: while there are any, syncs leave them most of the thread that all share. */

import { performance, type EventLoopUtilization } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long after an event the next one is still expected, in milliseconds. */
const memoryMs = 1_000

/** How much of its time the thread may be busy beside live events: the rest keeps them from waiting for it. */
const busyShare = 0.4

/** How often the rate is set anew, in milliseconds, and by how much at most. */
const adjustMs = 100
const mostUp = 1.2
const mostDown = 0.5

/** Identify calls a second: where the rate begins, and between which it moves. */
const firstRate = 400
const leastRate = 50
const mostRate = 20_000

export interface LiveTraffic {
  /** An event came in. */
  note(): void
  /** How many calls a second a sync may make now; Infinity while there are no live events. */
  callsPerSecond(): number
  /** Does a piece of a longer work, and then waits so that the whole takes no more than its share of the time while there
   *  are live events. */
  inTurn<Result>(piece: () => Promise<Result>): Promise<Result>
}

export function createLiveTraffic(): LiveTraffic {
  let lastAt = -Infinity
  let rate = firstRate
  let adjustedAt = -Infinity
  let seen: EventLoopUtilization | undefined

  const adjust = (now: number): void => {
    const passed = now - adjustedAt
    if (passed < adjustMs) return
    const present = performance.eventLoopUtilization()
    // After a pause without calls, what the thread did meanwhile says nothing about them.
    if (seen === undefined || passed > memoryMs) rate = firstRate
    else {
      const { utilization } = performance.eventLoopUtilization(present, seen)
      const factor = Math.min(mostUp, Math.max(mostDown, busyShare / utilization))
      rate = Math.min(mostRate, Math.max(leastRate, rate * factor))
    }
    adjustedAt = now
    seen = present
  }

  const areThereEvents = (now: number): boolean => now - lastAt < memoryMs

  return {
    note() {
      lastAt = performance.now()
    },
    callsPerSecond() {
      const now = performance.now()
      if (!areThereEvents(now)) return Infinity
      adjust(now)
      return rate
    },
    async inTurn(piece) {
      const startedAt = performance.now()
      const result = await piece()
      const now = performance.now()
      if (areThereEvents(now)) await sleep((now - startedAt) * (1 / busyShare - 1))
      return result
    },
  }
}
