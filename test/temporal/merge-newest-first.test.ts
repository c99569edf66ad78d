import { describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { mergeNewestFirst } from '../../src/temporal/merge-newest-first.ts'

const delivery = (id: string, startedAt: number, endedAt: number | null): Delivery => ({
  id,
  status: 'failed',
  sourceId: 's',
  destinationIds: [],
  type: 'track',
  event: null,
  messageId: id,
  userId: null,
  erased: false,
  startedAt: new Date(startedAt).toISOString(),
  endedAt: endedAt === null ? null : new Date(endedAt).toISOString(),
  attempts: null,
  nextAttemptAt: null,
  reason: null,
})

describe('the newest of several lists', () => {
  const a = [delivery('a1', 9, null), delivery('a2', 5, 50), delivery('a3', 7, 20)]
  const b = [delivery('b1', 8, null), delivery('b2', 1, 60), delivery('b3', 2, 20)]
  const idsOf = (lists: Delivery[][], limit: number) => {
    const { items, taken } = mergeNewestFirst(lists, limit)
    return [items.map(({ id }) => id), taken]
  }

  it('is what is under way, then by end, then by start', () => {
    expect(idsOf([a, b], 10)).toEqual([
      ['a1', 'b1', 'b2', 'a2', 'a3', 'b3'],
      [3, 3],
    ])
  })

  it('ends at the limit, and says how many came from each', () => {
    expect(idsOf([a, b], 3)).toEqual([
      ['a1', 'b1', 'b2'],
      [1, 2],
    ])
    expect(idsOf([[], b], 2)).toEqual([
      ['b1', 'b2'],
      [0, 2],
    ])
    expect(idsOf([[], []], 2)).toEqual([[], [0, 0]])
  })

  it('keeps the order of each list, also where times are the same to a millisecond', () => {
    const same = [delivery('s1', 1, 5), delivery('s2', 2, 5)]
    expect(idsOf([same, []], 2)).toEqual([
      ['s1', 's2'],
      [2, 0],
    ])
  })
})
