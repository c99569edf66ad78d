import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { inGroups } from '../src/in-groups.ts'

it('does together what comes in one turn of the event loop, as many as fit, in order', async () => {
  const groups: number[][] = []
  const record = inGroups(async (items: readonly number[]) => {
    groups.push([...items])
    await sleep(1)
  }, 3)
  await Promise.all([1, 2, 3, 4, 5, 6].map(record))
  await record(7)
  expect(groups).toEqual([[1, 2, 3], [4, 5, 6], [7]])
})

it('does together what comes while a group is under way', async () => {
  const groups: number[][] = []
  const ends: (() => void)[] = []
  const record = inGroups((items: readonly number[]) => {
    groups.push([...items])
    return new Promise<void>((resolve) => ends.push(resolve))
  }, 3)
  const first = record(1)
  await vi.waitFor(() => expect(ends).toHaveLength(1))
  const second = record(2)
  await sleep(1)
  const third = record(3)
  ends[0]?.()
  await first
  await vi.waitFor(() => expect(ends).toHaveLength(2))
  ends[1]?.()
  await Promise.all([second, third])
  expect(groups).toEqual([[1], [2, 3]])
})

it('fails for the whole group, and goes on with the next', async () => {
  const record = inGroups(async (items: readonly number[]) => {
    await sleep(1)
    if (items.includes(3)) throw new Error('the database is away')
  }, 2)
  const ends = await Promise.allSettled([1, 2, 3, 4, 5].map(record))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled'])
})
