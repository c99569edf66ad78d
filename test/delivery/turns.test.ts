import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTurns, type TurnBounds } from '../../src/delivery/turns.ts'

const noWait = { maxWaiting: 0, waitMs: 0 }
const longWait = { maxWaiting: 10, waitMs: 60_000 }

/** The same bounds for first attempts and retries. */
const turnsWith = (bounds: TurnBounds, { hangsMs = 4_000, maxAwayMs = 60_000 } = {}) =>
  createTurns({ first: bounds, retry: bounds, hangsMs, maxAwayMs })

// The pace is worked out from the clock, which a busy machine would make the test's opponent.
beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

describe('turns', () => {
  it('are bounded for each endpoint on its own and come back when given back', async () => {
    const turns = turnsWith({ perEndpoint: 2, ...noWait })
    const first = await turns.take('a', 'first')
    expect(await turns.take('a', 'first')).toBeTypeOf('function')
    expect(await turns.take('a', 'first')).toBeUndefined()
    expect(await turns.take('b', 'first')).toBeTypeOf('function')
    first?.()
    expect(await turns.take('a', 'first')).toBeTypeOf('function')
    expect(await turns.take('a', 'first')).toBeUndefined()
  })

  it('are counted apart for first attempts and retries', async () => {
    const turns = turnsWith({ perEndpoint: 1, ...noWait })
    expect(await turns.take('a', 'first')).toBeTypeOf('function')
    expect(await turns.take('a', 'retry')).toBeTypeOf('function')
    expect(await turns.take('a', 'first')).toBeUndefined()
    expect(await turns.take('a', 'retry')).toBeUndefined()
  })

  it('come back once, however often they are given back', async () => {
    const turns = turnsWith({ perEndpoint: 1, ...noWait })
    const giveBack = await turns.take('a', 'first')
    giveBack?.()
    expect(await turns.take('a', 'first')).toBeTypeOf('function')
    giveBack?.()
    expect(await turns.take('a', 'first')).toBeUndefined()
  })

  it('go to those who wait in the order in which they came', async () => {
    const turns = turnsWith({ perEndpoint: 1, ...longWait })
    const first = await turns.take('a', 'first')
    const order: string[] = []
    const second = turns.take('a', 'first').then((giveBack) => (order.push('second'), giveBack))
    const third = turns.take('a', 'first').then((giveBack) => (order.push('third'), giveBack))
    first?.()
    const giveBack = await second
    expect(order).toEqual(['second'])
    giveBack?.()
    expect(await third).toBeTypeOf('function')
  })

  it('are not waited for in vain: not for ever, and not by more than may wait', async () => {
    const turns = turnsWith({ perEndpoint: 1, maxWaiting: 1, waitMs: 20 })
    const held = await turns.take('a', 'first')
    const waits = turns.take('a', 'first')
    expect(await turns.take('a', 'first')).toBeUndefined()
    vi.advanceTimersByTime(20)
    expect(await waits).toBeUndefined()
    held?.()
    expect(await turns.take('a', 'first')).toBeTypeOf('function')
  })

  it('are not waited for where too many are ahead, at the pace of the endpoint', async () => {
    const turns = turnsWith({ perEndpoint: 2, maxWaiting: 100, waitMs: 100 })
    const first = await turns.take('a', 'first')
    vi.advanceTimersByTime(60)
    const second = await turns.take('a', 'first')
    first?.()
    const third = await turns.take('a', 'first')
    const waiting: Promise<unknown>[] = []
    while (!turns.isSaturated('a')) waiting.push(turns.take('a', 'first'))
    expect(waiting.length).toBeGreaterThan(0)
    expect(waiting.length).toBeLessThan(4)
    expect(await turns.take('a', 'first')).toBeUndefined()
    second?.()
    third?.()
    expect(await waiting[0]).toBeTypeOf('function')
  })

  it('are said to be taken only where nobody may wait for one', async () => {
    const turns = turnsWith({ perEndpoint: 1, maxWaiting: 1, waitMs: 50 })
    expect(turns.isSaturated('a')).toBe(false)
    const giveBack = await turns.take('a', 'first')
    expect(turns.isSaturated('a')).toBe(false)
    vi.advanceTimersByTime(60)
    expect(turns.isSaturated('a')).toBe(true)
    expect(turns.isSaturated('b')).toBe(false)
    giveBack?.()
    expect(turns.isSaturated('a')).toBe(false)
  })

  it('tell those that come again to come one after the other, at the pace of the endpoint', async () => {
    const turns = turnsWith({ perEndpoint: 2, ...noWait })
    const giveBack = await turns.take('slow', 'first')
    await turns.take('slow', 'first')
    vi.advanceTimersByTime(60)
    giveBack?.()
    const [first = 0, second = 0, third = 0] = [1, 2, 3].map(() => turns.comeBackInMs('slow'))
    expect([first, second, third]).toEqual([30, 60, 90])
  })

  it('are foreseen by how long the oldest is held, and as of an endpoint that hangs when that is long', async () => {
    const turns = turnsWith({ perEndpoint: 4, ...noWait }, { hangsMs: 400 })
    const giveBack = await turns.take('a', 'first')
    await turns.take('a', 'retry')
    vi.advanceTimersByTime(80)
    expect(turns.comeBackInMs('a')).toBeLessThan(50)
    vi.advanceTimersByTime(130)
    const [first = 0, second = 0, third = 0] = [1, 2, 3].map(() => turns.comeBackInMs('a'))
    expect([second - first, third - second]).toEqual([400, 400])
    giveBack?.()
    // It has answered after 200 ms, and four at a time.
    expect(turns.comeBackInMs('a')).toBeLessThan(300)
  })

  it('keep nobody away for longer than set, however many were told to come again', async () => {
    const turns = turnsWith({ perEndpoint: 1, ...noWait }, { maxAwayMs: 200 })
    const giveBack = await turns.take('slow', 'first')
    vi.advanceTimersByTime(60)
    const told = Array.from({ length: 50 }, () => turns.comeBackInMs('slow'))
    expect(Math.max(...told)).toBe(200)
    giveBack?.()
    vi.advanceTimersByTime(200)
    expect(turns.comeBackInMs('slow')).toBeLessThan(150)
  })

  it('are fewer while the endpoint hangs, and as many as before once it answers', async () => {
    const turns = turnsWith({ perEndpoint: 4, ...noWait }, { hangsMs: 50 })
    const takeAll = async () => {
      const taken = []
      for (let turn = await turns.take('a', 'first'); turn !== undefined; turn = await turns.take('a', 'first'))
        taken.push(turn)
      return taken
    }
    const begun = await takeAll()
    expect(begun).toHaveLength(4)
    vi.advanceTimersByTime(60)
    const [last, ...others] = begun
    for (const giveBack of others) giveBack()
    expect(await turns.take('a', 'first')).toBeUndefined()
    // What first attempts have shown counts for retries.
    const retry = await turns.take('a', 'retry')
    expect(retry).toBeTypeOf('function')
    expect(await turns.take('a', 'retry')).toBeUndefined()
    retry?.()
    last?.()
    // One at a time, each of them quick.
    for (let round = 0; round < 10; round++) {
      const held = await turns.take('a', 'first')
      const other = await turns.take('a', 'first')
      held?.()
      other?.()
      // Somebody is always there, so that what is known of the endpoint is kept.
      turns.comeBackInMs('a')
    }
    expect(await takeAll()).toHaveLength(4)
  })
})
