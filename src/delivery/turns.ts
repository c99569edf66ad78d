/** How many attempts may be in flight to one endpoint, so that one that hangs leaves room for the others. */

export interface TurnsOptions {
  /** Most attempts in flight to one endpoint; a quarter of them while it hangs. */
  perEndpoint: number
  /** It hangs when turns are held so long on average, in milliseconds. */
  hangsMs: number
  /** How many may wait for a turn at one endpoint, and how long in milliseconds; nobody waits for one that has not
   *  given a turn back for as long. */
  maxWaiting: number
  waitMs: number
  /** Longest time that an attempt is told to stay away, in milliseconds, however many were told so before: what they
   *  booked must not keep others away once the endpoint has recovered. */
  maxAwayMs: number
}

export interface Turns {
  /** Takes a turn at an endpoint, first come, first served: the function that gives it back (once; further calls do
   *  nothing), or undefined when none comes free in time. */
  take(endpointId: string): Promise<GiveBack | undefined>
  /** When an attempt that got no turn should come again, in milliseconds: behind those that were told so before, at the
   *  pace at which the endpoint gives its turns back. */
  comeBackInMs(endpointId: string): number
}

export type GiveBack = () => void

type Served = (turn: GiveBack | undefined) => void

/** One endpoint. */
interface Lane {
  /** The turns that are taken, oldest first. */
  taken: Set<{ at: number }>
  waiting: Set<Served>
  /** Moving average of how long a turn is held, in milliseconds. */
  heldMs: number
  /** When the last one that was told to come again should be through. */
  bookedUntil: number
}

/** Weight of the newest turn in the average: a few show that an endpoint has recovered. */
const newestShare = 0.25

/** An endpoint that answers nobody needs fewer attempts to show that it is back; each costs Temporal as much as a delivery. */
const hangingShare = 0.25

/** Turns for every endpoint; one without attempts in flight or to come takes no memory. */
export const createTurns = ({ perEndpoint, hangsMs, maxWaiting, waitMs, maxAwayMs }: TurnsOptions): Turns => {
  const lanes = new Map<string, Lane>()

  const laneOf = (endpointId: string): Lane => {
    const known = lanes.get(endpointId)
    if (known !== undefined) return known
    const lane: Lane = { taken: new Set(), waiting: new Set(), heldMs: 0, bookedUntil: 0 }
    lanes.set(endpointId, lane)
    return lane
  }

  const limitOf = ({ heldMs }: Lane): number =>
    heldMs < hangsMs ? perEndpoint : Math.max(1, Math.floor(perEndpoint * hangingShare))

  const grant = (endpointId: string, lane: Lane): GiveBack => {
    const turn = { at: performance.now() }
    lane.taken.add(turn)
    return () => {
      if (!lane.taken.delete(turn)) return
      const now = performance.now()
      lane.heldMs += (now - turn.at - lane.heldMs) * (lane.heldMs === 0 ? 1 : newestShare)
      const [next] = lane.waiting
      if (next !== undefined && lane.taken.size < limitOf(lane)) next(grant(endpointId, lane))
      else if (lane.taken.size === 0 && lane.bookedUntil <= now) lanes.delete(endpointId)
    }
  }

  return {
    take(endpointId) {
      const lane = laneOf(endpointId)
      if (lane.taken.size < limitOf(lane)) return Promise.resolve(grant(endpointId, lane))
      const [oldest] = lane.taken
      const hangs = oldest !== undefined && performance.now() - oldest.at > waitMs
      if (hangs || lane.waiting.size >= maxWaiting) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        const served: Served = (turn) => {
          clearTimeout(timer)
          lane.waiting.delete(served)
          resolve(turn)
        }
        const timer = setTimeout(served, waitMs, undefined)
        lane.waiting.add(served)
      })
    },
    comeBackInMs(endpointId) {
      const lane = laneOf(endpointId)
      const now = performance.now()
      const [oldest] = lane.taken
      // An endpoint that hangs has given none back yet.
      const heldMs = Math.max(lane.heldMs, oldest === undefined ? 0 : now - oldest.at)
      lane.bookedUntil = Math.min(Math.max(lane.bookedUntil, now) + heldMs / limitOf(lane), now + maxAwayMs)
      return Math.min(Math.ceil(lane.bookedUntil - now), maxAwayMs)
    },
  }
}
