/** How many events of the inbox are started side by side: as many as Temporal takes without making them queue. More starts would
 *  start nothing sooner, and keep the processor from what was started before, and from callers who wait. */

/** Bounds of the limit: a Temporal of its own size takes many, the embedded one about 2. */
const fewest = 1
const most = 16

/** A start stands in a queue when it takes this many times as long as the quickest ones. */
const queueFactor = 2

/** How fast the limit moves, and how fast the quickest time is forgotten, as shares of the difference at each start. */
const moveShare = 0.2
const forgetShare = 0.0001

export interface StartPace {
  /** How many starts may be under way now. */
  limit(): number
  /** Measures how long each call of `start` takes. */
  watch<Input, Result>(start: (input: Input) => Promise<Result>): (input: Input) => Promise<Result>
}

/** The limit follows the gradient of the time that a start takes: it shrinks in proportion while starts take longer than
 *  they should, and grows by small steps otherwise. */
export function createStartPace(): StartPace {
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
    watch: (start) => async (input) => {
      const begun = performance.now()
      const result = await start(input)
      observe(performance.now() - begun)
      return result
    },
  }
}
