/** Attempts that wait in line for a place at their endpoint, first come, first served. */

import type { Admission } from './admission.ts'
import type { KnownEndpoint, Share } from './known-endpoint.ts'
import type { Places } from './places.ts'

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
        const timer = setTimeout(end, share.waitMs, false)
        share.waiting.add(end)
        lines.set(share, endpoint)
      }),
    serve() {
      for (const [share, endpoint] of lines)
        for (const end of share.waiting) {
          if (!fits(endpoint, share, performance.now())) break
          end(true)
        }
    },
    dissolve({ first: { waiting } }) {
      for (const end of [...waiting]) end(false)
    },
  }
}
