/** Lets few events pass many: while a small group of events is on its way, attempts of a flood wait for a moment. */

/** For how long a group goes first at most, in milliseconds: about as long as it takes beside a flood. */
const longestMs = 150

export interface Precedence {
  /** A group begins to go first.
   *  @param id  of its parcel, or of the work that leads to it */
  begin(id: string): void
  /** The group is through, or takes no precedence any more; further calls do nothing. */
  end(id: string): void
  /** Resolves when no other group goes first; undefined when none does now. Others wait for half of the time at most, however many
   *  groups come one after the other. */
  turnOf(id: string): Promise<void> | undefined
}

export function createPrecedence(): Precedence {
  const first = new Map<string, NodeJS.Timeout>()
  let waiting: { since: number; over: Promise<void>; resolve: () => void; timer: NodeJS.Timeout } | undefined
  let goOnUntil = -Infinity

  const endWait = (): void => {
    if (waiting === undefined) return
    const now = performance.now()
    goOnUntil = now + (now - waiting.since)
    clearTimeout(waiting.timer)
    waiting.resolve()
    waiting = undefined
  }

  const end = (id: string): void => {
    clearTimeout(first.get(id))
    if (first.delete(id) && first.size === 0) endWait()
  }

  const beginWait = (): Promise<void> => {
    let resolve = (): void => undefined
    const over = new Promise<void>((resolved) => (resolve = resolved))
    waiting = { since: performance.now(), over, resolve, timer: setTimeout(endWait, longestMs) }
    return over
  }

  return {
    begin(id) {
      clearTimeout(first.get(id))
      first.set(id, setTimeout(end, longestMs, id))
    },
    end,
    turnOf(id) {
      if (first.size === 0 || first.has(id) || performance.now() < goOnUntil) return undefined
      return waiting?.over ?? beginWait()
    },
  }
}
