/** How many events of the inbox are started side by side: as many as Temporal takes without making them queue. More starts at a time
 *  would start no event sooner, and take the processor from deliveries that began before, and from callers who wait for an answer. */

/** Fewest and most starts side by side: a Temporal on machines of its own takes many, the embedded one about 2. */
const fewest = 1
const most = 16

/** A start that takes so many times as long as the quickest ones waited in a queue of Temporal. */
const queueFactor = 2

/** At each start the limit moves by this share of the way to what that start suggests, and the quickest time by this share towards the
 *  time of that start. */
const moveShare = 0.2
const forgetShare = 0.0001

export interface StartPace {
  /** How many starts may be under way now. */
  limit(): number
  /** Measures how long each call of `start` takes. */
  watch<Args extends unknown[], Result>(start: (...args: Args) => Promise<Result>): (...args: Args) => Promise<Result>
}

/** The limit follows the gradient of the time that a start takes: it shrinks in proportion while starts take longer than
 *  `queueFactor` times the quickest ones, and grows by small steps otherwise.
 *
 *  @param now  the time in milliseconds, from any beginning */
export function createStartPace(now = () => performance.now()): StartPace {
  let limit = most / 2
  let quickestMs = Infinity

  const observe = (ms: number): void => {
    quickestMs = Math.min(ms, quickestMs === Infinity ? ms : quickestMs + (ms - quickestMs) * forgetShare)
    const gradient = Math.min(1, Math.max(0.5, (queueFactor * quickestMs) / ms))
    const wanted = Math.min(most, Math.max(fewest, limit * gradient + 0.5))
    limit += (wanted - limit) * moveShare
  }

  return {
    limit: () => Math.round(limit),
    watch:
      (start) =>
      async (...args) => {
        const begun = now()
        const result = await start(...args)
        observe(now() - begun)
        return result
      },
  }
}
