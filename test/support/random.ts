/** Numbers that look random and are the same for the same seed. */

export interface Random {
  /** From 0 up to and without 1. */
  next(): number
  between(low: number, high: number): number
  pick<Item>(items: readonly Item[]): Item
}

/** @param seed  a whole number; its lower 32 bits count */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  /** The generator mulberry32. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    pick<Item>(items: readonly Item[]): Item {
      const item = items[Math.floor(next() * items.length)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
  }
}
