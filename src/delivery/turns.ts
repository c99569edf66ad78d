/** How many attempts may be in flight to one endpoint, so that one that hangs leaves room for the others. */

export interface Turns {
  /** Takes a turn at an endpoint: the function that gives it back (once; further calls do nothing), or undefined when
   *  all are taken. */
  tryTake(endpointId: string): (() => void) | undefined
}

/** Turns for every endpoint; an endpoint takes memory only while it has attempts in flight.
 *  @param perEndpoint  most attempts in flight to one endpoint */
export const createTurns = ({ perEndpoint }: { perEndpoint: number }): Turns => {
  const taken = new Map<string, number>()

  const giveBack = (endpointId: string): void => {
    const left = (taken.get(endpointId) ?? 0) - 1
    if (left > 0) taken.set(endpointId, left)
    else taken.delete(endpointId)
  }

  return {
    tryTake(endpointId) {
      const inFlight = taken.get(endpointId) ?? 0
      if (inFlight >= perEndpoint) return undefined
      taken.set(endpointId, inFlight + 1)
      let held = true
      return () => {
        if (!held) return
        held = false
        giveBack(endpointId)
      }
    },
  }
}
