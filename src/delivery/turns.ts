/** How many attempts may be in flight to one endpoint, so that one that hangs leaves room for the others. */

/** First attempts and retries have turns of their own: neither keeps the other from an endpoint. */
export type TurnKind = 'first' | 'retry'

export interface TurnBounds {
  /** Most attempts in flight to one endpoint; a quarter of them while it hangs. */
  perEndpoint: number
  /** How many may wait for a turn at one endpoint, and how long in milliseconds; nobody waits where none is likely to come
   *  in that time. */
  maxWaiting: number
  waitMs: number
}

export interface TurnsOptions extends Record<TurnKind, TurnBounds> {
  /** An endpoint hangs when turns are held so long on average, in milliseconds. */
  hangsMs: number
  /** Longest time that an attempt is told to stay away, in milliseconds, however many were told so before: what they
   *  booked must not keep others away once the endpoint has recovered. */
  maxAwayMs: number
}

export interface Turns {
  /** Takes a turn at an endpoint, first come, first served: the function that gives it back (once; further calls do
   *  nothing), or undefined when none comes free in time. */
  take(endpointId: string, kind: TurnKind): Promise<GiveBack | undefined>
  /** When an attempt that got no turn should come again, as a retry, in milliseconds: behind those that were told so
   *  before, at the pace at which the endpoint gives its turns back. */
  comeBackInMs(endpointId: string): number
  /** Whether a first attempt would get no turn now, nor be let wait for one. */
  isSaturated: (endpointId: string) => boolean
}

export type GiveBack = () => void

type Served = (turn: GiveBack | undefined) => void

interface Pool extends TurnBounds {
  /** The turns that are taken, oldest first. */
  taken: Set<{ at: number }>
  waiting: Set<Served>
}

/** One endpoint. */
interface Lane extends Record<TurnKind, Pool> {
  /** Moving average of how long a turn is held, in milliseconds; 0 before one was given back. */
  heldMs: number
  /** How many were told to come again and not yet through, and when that was so. */
  booked: { turns: number; at: number }
}

/** Weight of the newest turn in the average: a few show that an endpoint has recovered. */
const newestShare = 0.25

/** An endpoint that answers nobody needs fewer attempts to show that it is back; each costs Temporal as much as a delivery. */
const hangingShare = 0.25

/** Turns for every endpoint; one without attempts in flight or to come takes no memory. */
export const createTurns = ({ first, retry, hangsMs, maxAwayMs }: TurnsOptions): Turns => {
  const lanes = new Map<string, Lane>()

  const laneOf = (endpointId: string): Lane => {
    const known = lanes.get(endpointId)
    if (known !== undefined) return known
    const lane: Lane = { first: createPool(first), retry: createPool(retry), heldMs: 0, booked: noneBooked }
    lanes.set(endpointId, lane)
    return lane
  }

  const limitOf = ({ heldMs }: Lane, { perEndpoint }: Pool): number =>
    heldMs < hangsMs ? perEndpoint : hangingLimit(perEndpoint)

  const hasRoom = (lane: Lane, pool: Pool): boolean => pool.taken.size < limitOf(lane, pool)

  /** Whether one more may wait: none does where no turn was given back for as long, or where too many are ahead. */
  const letsWait = (lane: Lane, pool: Pool): boolean => {
    const { taken, waiting, maxWaiting, waitMs } = pool
    const [oldest] = taken
    const hangs = oldest !== undefined && performance.now() - oldest.at > waitMs
    const expectedMs = ((waiting.size + 1) * lane.heldMs) / limitOf(lane, pool)
    return !hangs && waiting.size < maxWaiting && expectedMs <= waitMs
  }

  /** How often the endpoint gives a turn back to a retry, in milliseconds. One that keeps a turn much longer than it used to
   *  hangs, it seems: who comes too early comes in vain. */
  const paceMs = (lane: Lane, now: number): number => {
    const oldest = Math.min(...[lane.first, lane.retry].map(({ taken: [turn] }) => turn?.at ?? now))
    const ageMs = now - oldest
    const seemsToHang = ageMs > Math.max(hangsMs / 2, 2 * lane.heldMs)
    return seemsToHang
      ? Math.max(ageMs, hangsMs) / hangingLimit(retry.perEndpoint)
      : Math.max(ageMs, lane.heldMs, 1) / limitOf(lane, lane.retry)
  }

  /** Those booked ahead, at the pace of today. */
  const bookedTurns = ({ booked }: Lane, pace: number, now: number): number =>
    Math.max(0, booked.turns - (now - booked.at) / pace)

  const isIdle = (lane: Lane, now: number): boolean =>
    lane.first.taken.size === 0 && lane.retry.taken.size === 0 && bookedTurns(lane, paceMs(lane, now), now) === 0

  const grant = (endpointId: string, lane: Lane, pool: Pool): GiveBack => {
    const turn = { at: performance.now() }
    pool.taken.add(turn)
    return () => {
      if (!pool.taken.delete(turn)) return
      const now = performance.now()
      lane.heldMs += (now - turn.at - lane.heldMs) * (lane.heldMs === 0 ? 1 : newestShare)
      const [next] = pool.waiting
      if (next !== undefined && hasRoom(lane, pool)) next(grant(endpointId, lane, pool))
      else if (isIdle(lane, now)) lanes.delete(endpointId)
    }
  }

  return {
    take(endpointId, kind) {
      const lane = laneOf(endpointId)
      const pool = lane[kind]
      const { waiting, waitMs } = pool
      if (hasRoom(lane, pool)) return Promise.resolve(grant(endpointId, lane, pool))
      if (!letsWait(lane, pool)) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        const served: Served = (turn) => {
          clearTimeout(timer)
          waiting.delete(served)
          resolve(turn)
        }
        const timer = setTimeout(served, waitMs, undefined)
        waiting.add(served)
      })
    },
    comeBackInMs(endpointId) {
      const lane = laneOf(endpointId)
      const now = performance.now()
      const pace = paceMs(lane, now)
      const turns = Math.min(bookedTurns(lane, pace, now) + 1, maxAwayMs / pace)
      lane.booked = { turns, at: now }
      // The product may be more than its bound by the rounding of a division.
      return Math.min(Math.ceil(turns * pace), maxAwayMs)
    },
    isSaturated(endpointId) {
      const lane = lanes.get(endpointId)
      return lane !== undefined && !hasRoom(lane, lane.first) && !letsWait(lane, lane.first)
    },
  }
}

const noneBooked = { turns: 0, at: 0 }

const createPool = (bounds: TurnBounds): Pool => ({ ...bounds, taken: new Set(), waiting: new Set() })

const hangingLimit = (perEndpoint: number): number => Math.max(1, Math.floor(perEndpoint * hangingShare))
