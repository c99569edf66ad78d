/** Attempts that wait in line for a place at their endpoint, first come, first served. */

import type { Admission } from './admission.ts'
import type { KnownEndpoint, Share } from './known-endpoint.ts'
import { lineOf, type Places } from './places.ts'
import { isBounded, restMs } from './set-bounds.ts'

export interface Lines {
  /** Waits in line until there is a place, for as long as the share's bounds let one wait.
   *  @param decide  called at once when the wait is over, with whether the attempt may look for a place */
  wait: (endpoint: KnownEndpoint, share: Share, decide: (looks: boolean) => Admission) => Promise<Admission>
  /** Lets those go on for whom there is a place now. */
  serve: () => void
  /** Ends the wait of all at the endpoint, in vain. */
  dissolve: (endpoint: KnownEndpoint) => void
}

/** Nobody waits. */
export function createLines({ fits, takeInLine }: Pick<Places, 'fits' | 'takeInLine'>): Lines {
  /** The lines that are not empty, and the endpoint of each. */
  const lines = new Map<Share, KnownEndpoint>()
  /** Endpoints at which one may go in a moment, by the rate that is set. */
  const timers = new Map<KnownEndpoint, NodeJS.Timeout>()

  const serveInTime = (endpoint: KnownEndpoint): void => {
    const ms = restMs(endpoint, performance.now())
    if (ms > 0 && !timers.has(endpoint)) timers.set(endpoint, setTimeout(serveNow, Math.ceil(ms), endpoint))
  }
  const serveNow = (endpoint: KnownEndpoint): void => {
    timers.delete(endpoint)
    serve()
  }

  /** One of each line in turn: neither first attempts nor retries keep the others waiting. */
  const serve = (): void => {
    for (const [share, endpoint] of lines) {
      const [end] = share.waiting
      if (end === undefined || !fits(endpoint, share, performance.now())) continue
      end(true)
      // The line is looked at once more, after the others.
      if (lines.delete(share)) lines.set(share, endpoint)
    }
    for (const endpoint of lines.values()) serveInTime(endpoint)
  }

  return {
    wait: (endpoint, share, decide) =>
      new Promise((resolve) => {
        const giveBack = takeInLine(share)
        const end = (looks: boolean): void => {
          clearTimeout(timer)
          share.waiting.delete(end)
          if (share.waiting.size === 0) lines.delete(share)
          giveBack()
          resolve(decide(looks))
        }
        const timer = setTimeout(end, longestWaitMs(endpoint, share), false)
        share.waiting.add(end)
        lines.set(share, endpoint)
        serveInTime(endpoint)
      }),
    serve,
    dissolve({ first, retry }) {
      for (const end of [...first.waiting, ...retry.waiting]) end(false)
    },
  }
}

/** The rate that is set lets one go when that was expected, and not before: there is time to be a little late. */
function longestWaitMs(endpoint: KnownEndpoint, share: Share): number {
  const { waitMs } = lineOf(endpoint, share)
  return isBounded(endpoint) ? 2 * waitMs : waitMs
}
