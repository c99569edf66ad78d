import { expect, it } from 'vitest'
import { createLookout } from '../src/lookout.ts'
import { until } from './support/wait.ts'

it('looks once for all who wait, and not while nobody does', async () => {
  const there = new Set<string>()
  const looks: string[][] = []
  const lookout = createLookout((ids) => {
    looks.push(ids)
    return Promise.resolve(ids.filter((id) => there.has(id)))
  }, 1)
  const found: string[] = []
  const waits = ['a', 'b', 'a'].map(async (id) => {
    await lookout.wait(id, 600_000)
    found.push(id)
  })
  await until('some looks', () => looks.length > 3)
  expect(looks.every((ids) => ids.join() === 'a,b')).toBe(true)
  expect(found).toEqual([])
  there.add('a')
  await until('those who wait for the one know', () => found.join() === 'a,a')
  there.add('b')
  await Promise.all(waits)
})

it('waits on when looks fail, within the time, until the signal', async () => {
  let looks = 0
  const lookout = createLookout(() => {
    looks++
    return Promise.reject(new Error('the database is away'))
  }, 1)
  const end = new AbortController()
  const waiting = lookout.wait('a', 600_000, end.signal)
  await until('some looks', () => looks > 3)
  end.abort()
  await waiting
  await lookout.wait('a', 1)
})
