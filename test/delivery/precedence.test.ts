import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPrecedence } from '../../src/delivery/precedence.ts'

/** Whether a wait is over by now. */
const isOver = async (wait: Promise<void> | undefined): Promise<boolean> => {
  if (wait === undefined) return true
  let over = false
  void wait.then(() => (over = true))
  await vi.advanceTimersByTimeAsync(0)
  return over
}

beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

describe('precedence', () => {
  it('lets everybody go while no group goes first', () => {
    expect(createPrecedence().turnOf('flood')).toBeUndefined()
  })

  it('lets others wait until the last group is through, and not the group itself', async () => {
    const precedence = createPrecedence()
    precedence.begin('a')
    precedence.begin('b')
    expect(precedence.turnOf('a')).toBeUndefined()
    const wait = precedence.turnOf('flood')
    expect(await isOver(wait)).toBe(false)
    precedence.end('a')
    expect(await isOver(wait)).toBe(false)
    precedence.end('b')
    expect(await isOver(wait)).toBe(true)
  })

  it('ends by itself where a group is never through', async () => {
    const precedence = createPrecedence()
    precedence.begin('lost')
    const wait = precedence.turnOf('flood')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await isOver(wait)).toBe(true)
    expect(precedence.turnOf('flood')).toBeUndefined()
  })

  it('keeps others back for half of the time at most, however many groups follow one another', async () => {
    const precedence = createPrecedence()
    let waitedMs = 0
    for (let ms = 0; ms < 10_000; ms++) {
      precedence.begin(`group ${ms}`)
      if (!(await isOver(precedence.turnOf('flood')))) waitedMs++
      await vi.advanceTimersByTimeAsync(1)
    }
    expect(waitedMs).toBeGreaterThan(4_000)
    expect(waitedMs).toBeLessThan(5_500)
  })
})
