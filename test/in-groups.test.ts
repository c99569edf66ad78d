import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inGroups } from '../src/in-groups.ts'

it('does together what comes while a group is under way, as many as fit, in order', async () => {
  const groups: number[][] = []
  const record = inGroups(async (items: readonly number[]) => {
    groups.push([...items])
    await sleep(1)
  }, 3)
  await Promise.all([1, 2, 3, 4, 5, 6].map(record))
  await record(7)
  expect(groups).toEqual([[1], [2, 3, 4], [5, 6], [7]])
})

it('fails for the whole group, and goes on with the next', async () => {
  const record = inGroups(async (items: readonly number[]) => {
    await sleep(1)
    if (items.includes(3)) throw new Error('the database is away')
  }, 2)
  const ends = await Promise.allSettled([1, 2, 3, 4, 5].map(record))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'])
})
