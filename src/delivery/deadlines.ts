/** Time limits of one length under one timer: with async hooks, as Temporal's activities have them, a timer for each costs
 *  more than what it guards. */

/** A timer that fires so much too late, in milliseconds, tells that this process stood still: what it was to send, or to read, may
 *  be sent and read only now. */
const standstillMs = 1_000

/** One time limit that runs. */
export interface Deadline {
  /** When it ends, by `performance.now`. */
  at: number
  expire: () => void
  /** Its place in the list of limits that run; -1 when it is over. */
  place: number
}

export interface Deadlines {
  /** Begins a limit.
   *  @param expire  called once, unless the limit is lifted before */
  set(expire: () => void): Deadline
  lift(deadline: Deadline): void
}

/** Limits of one length.
 *  @param ms  how long after it was set each of them ends, in milliseconds; where this process stood still meanwhile, how long after
 *    that */
export function createDeadlines(ms: number): Deadlines {
  // An array without order: a set that is written all the time keeps what left it alive in its outgrown tables.
  const running: Deadline[] = []
  let timer: NodeJS.Timeout | undefined
  let timerAt = 0

  const watch = (inMs: number): void => {
    timerAt = performance.now() + inMs
    // The timer may outlive the limits that it was started for; `unref` lets a process that is done end all the same.
    timer = setTimeout(endThoseDue, inMs).unref()
  }
  const endThoseDue = (): void => {
    timer = undefined
    const now = performance.now()
    const stoodStill = now - timerAt > standstillMs
    if (stoodStill) for (const deadline of running) deadline.at = now + ms
    for (const deadline of running.filter(({ at }) => at <= now)) {
      lift(deadline)
      deadline.expire()
    }
    if (running.length > 0) watch(running.reduce((first, { at }) => Math.min(first, at), Infinity) - now)
  }
  const lift = (deadline: Deadline): void => {
    const { place } = deadline
    if (place === -1) return
    deadline.place = -1
    const last = running.pop()
    if (last === undefined || last === deadline) return
    running[place] = last
    last.place = place
  }

  return {
    set(expire) {
      const deadline = { at: performance.now() + ms, expire, place: running.length }
      running.push(deadline)
      if (timer === undefined) watch(ms)
      return deadline
    },
    lift,
  }
}
