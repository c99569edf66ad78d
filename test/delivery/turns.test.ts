import { describe, expect, it } from 'vitest'
import { createTurns } from '../../src/delivery/turns.ts'

const noWait = { hangsMs: 4_000, maxWaiting: 0, waitMs: 0, maxAwayMs: 60_000 }
const longWait = { hangsMs: 4_000, maxWaiting: 10, waitMs: 60_000, maxAwayMs: 60_000 }

describe('turns', () => {
  it('are bounded for each endpoint on its own and come back when given back', async () => {
    const turns = createTurns({ perEndpoint: 2, ...noWait })
    const first = await turns.take('a')
    expect(await turns.take('a')).toBeTypeOf('function')
    expect(await turns.take('a')).toBeUndefined()
    expect(await turns.take('b')).toBeTypeOf('function')
    first?.()
    expect(await turns.take('a')).toBeTypeOf('function')
    expect(await turns.take('a')).toBeUndefined()
  })

  it('come back once, however often they are given back', async () => {
    const turns = createTurns({ perEndpoint: 1, ...noWait })
    const giveBack = await turns.take('a')
    giveBack?.()
    expect(await turns.take('a')).toBeTypeOf('function')
    giveBack?.()
    expect(await turns.take('a')).toBeUndefined()
  })

  it('go to those who wait in the order in which they came', async () => {
    const turns = createTurns({ perEndpoint: 1, ...longWait })
    const first = await turns.take('a')
    const order: string[] = []
    const second = turns.take('a').then((giveBack) => (order.push('second'), giveBack))
    const third = turns.take('a').then((giveBack) => (order.push('third'), giveBack))
    first?.()
    const giveBack = await second
    expect(order).toEqual(['second'])
    giveBack?.()
    expect(await third).toBeTypeOf('function')
  })

  it('are not waited for in vain: not for ever, and not by more than may wait', async () => {
    const turns = createTurns({ perEndpoint: 1, ...noWait, maxWaiting: 1, waitMs: 20 })
    const held = await turns.take('a')
    const waits = turns.take('a')
    expect(await turns.take('a')).toBeUndefined()
    expect(await waits).toBeUndefined()
    held?.()
    expect(await turns.take('a')).toBeTypeOf('function')
  })

  it('tell those that come again to come one after the other, at the pace of the endpoint', async () => {
    const turns = createTurns({ perEndpoint: 2, ...noWait })
    await turns.take('slow')
    await turns.take('slow')
    await new Promise((resolve) => setTimeout(resolve, 60))
    const [first = 0, second = 0, third = 0] = [1, 2, 3].map(() => turns.comeBackInMs('slow'))
    expect(first).toBeGreaterThanOrEqual(29)
    expect(second - first).toBeGreaterThanOrEqual(28)
    expect(third - second).toBeGreaterThanOrEqual(28)
    expect(turns.comeBackInMs('unknown')).toBe(0)
  })

  it('are known to be held long before the first is given back', async () => {
    const turns = createTurns({ perEndpoint: 1, ...noWait })
    await turns.take('hangs')
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(turns.comeBackInMs('hangs')).toBeGreaterThanOrEqual(59)
  })

  it('keep nobody away for longer than set, however many were told to come again', async () => {
    const turns = createTurns({ perEndpoint: 1, ...noWait, maxAwayMs: 200 })
    const giveBack = await turns.take('slow')
    await new Promise((resolve) => setTimeout(resolve, 60))
    const told = Array.from({ length: 50 }, () => turns.comeBackInMs('slow'))
    expect(Math.max(...told)).toBe(200)
    giveBack?.()
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(turns.comeBackInMs('slow')).toBeLessThan(150)
  })

  it('are fewer while the endpoint hangs, and as many as before once it answers', async () => {
    const turns = createTurns({ perEndpoint: 4, ...noWait, hangsMs: 50 })
    const takeAll = async () => {
      const taken = []
      for (let turn = await turns.take('a'); turn !== undefined; turn = await turns.take('a')) taken.push(turn)
      return taken
    }
    const begun = await takeAll()
    expect(begun).toHaveLength(4)
    await new Promise((resolve) => setTimeout(resolve, 60))
    const [last, ...others] = begun
    for (const giveBack of others) giveBack()
    expect(await turns.take('a')).toBeUndefined()
    last?.()
    // One at a time, each of them quick.
    for (let round = 0; round < 10; round++) {
      const held = await turns.take('a')
      const other = await turns.take('a')
      held?.()
      other?.()
      // Somebody is always there, so that what is known of the endpoint is kept.
      turns.comeBackInMs('a')
    }
    expect(await takeAll()).toHaveLength(4)
  })
})
