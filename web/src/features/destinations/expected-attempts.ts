/** What a retry schedule comes to, for who sets it. The node decides when it is time: `docs/delivery.md`, "A retry window of its own". */

import type { Status } from '../../../../src/schemas/system.ts'
import type { RetryValues } from './destination-form.ts'

type Retry = Status['retry']

/** The longest pause of an own window, as a share of it, and its limit in milliseconds. */
const longestShare = 1 / 16
const longestMs = 7_200_000

/** Of each pause so much is waited on average: at least half, the rest is random. */
const waitedShare = 3 / 4

/** The schedule at an endpoint, as far as it is typed there, else at its destination; the rest is the node's. */
export function retryOf(ofNode: Retry, destination: RetryValues, endpoint: RetryValues = destination): Retry {
  const retryWindowHours = endpoint.retryWindowHours || destination.retryWindowHours
  const firstSeconds = endpoint.retryPauses.firstSeconds || destination.retryPauses.firstSeconds
  const maxSeconds = endpoint.retryPauses.maxSeconds || destination.retryPauses.maxSeconds
  const windowMs = retryWindowHours === '' ? ofNode.windowMs : retryWindowHours * 3_600_000
  const grownMs = retryWindowHours === '' ? 0 : Math.min(longestMs, windowMs * longestShare)
  return {
    windowMs,
    initialMs: firstSeconds === '' ? ofNode.initialMs : firstSeconds * 1_000,
    maxMs: maxSeconds === '' ? Math.max(ofNode.maxMs, grownMs) : maxSeconds * 1_000,
  }
}

/** About how many attempts an event gets that fails all the time; fewer are made once its endpoint is down. */
export function attemptsIn({ windowMs, initialMs, maxMs }: Retry): number {
  let attempts = 0
  for (let [at, pauseMs] = [0, initialMs]; at < windowMs; pauseMs = Math.min(2 * pauseMs, maxMs)) {
    attempts++
    at += Math.max(1, Math.min(pauseMs, maxMs) * waitedShare)
  }
  return attempts
}
