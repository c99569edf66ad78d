import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { obeyedRetryAfterMs, retryDelayMs } from '../../src/contracts/retry-delay.ts'
import { maxRetryAfterMs, parseRetryAfter } from '../../src/delivery/retry-after.ts'

const schedule = { initialMs: 10_000, maxMs: 900_000 }

describe('the pause before a retry', () => {
  it('doubles from the first to the longest, of which at least half is waited', () => {
    const steps = [10, 20, 40, 80, 160, 320, 640, 900, 900].map((seconds) => seconds * 1000)
    const pauses = (random: number) =>
      steps.map((_, index) => retryDelayMs({ ...schedule, attempt: index + 1, random: () => random }))
    expect(pauses(0)).toEqual(steps.map((step) => step / 2))
    expect(pauses(1)).toEqual(steps)
  })

  it('stays between half a step and a step for every attempt and every random number', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, random) => {
          const pause = retryDelayMs({ ...schedule, attempt, random: () => random })
          const step = Math.min(schedule.maxMs, schedule.initialMs * 2 ** (attempt - 1))
          expect(pause).toBeGreaterThanOrEqual(step / 2)
          expect(pause).toBeLessThanOrEqual(step)
        },
      ),
    )
  })

  it('is never shorter than Retry-After', () => {
    const pause = (retryAfterMs: number) => retryDelayMs({ ...schedule, attempt: 1, retryAfterMs, random: () => 0 })
    expect(pause(3_600_000)).toBe(3_600_000)
    expect(pause(0)).toBe(5000)
  })

  it.each([
    [3_600_000, 14_400_000, 3_600_000],
    [3_600_001, 14_400_000, 3_600_000],
    [86_400_000, 14_400_000, 3_600_000],
    [5_000, 20_001, 5_000],
    [5_001, 20_003, 5_000],
    [1_000, 3, 0],
    [1_000, 0, 0],
    [1_000, -1, 0],
    [0, 14_400_000, 0],
  ])('obeys of a Retry-After of %i ms, with %i ms left of the window, %i ms', (retryAfterMs, remainingMs, expected) => {
    expect(obeyedRetryAfterMs(retryAfterMs, remainingMs)).toBe(expected)
  })

  it('leaves room for the retries of the window, whatever Retry-After asks for', () => {
    const windowMs = 14_400_000
    let attempts = 1
    for (let passedMs = 0; ; attempts++) {
      const retryAfterMs = obeyedRetryAfterMs(maxRetryAfterMs, windowMs - passedMs)
      passedMs += retryDelayMs({ ...schedule, attempt: attempts, retryAfterMs, random: () => 1 })
      if (passedMs >= windowMs) break
    }
    expect(attempts).toBe(10)
  })
})

describe('Retry-After', () => {
  const now = new Date('1994-11-06T08:49:07Z')

  it.each([
    ['30', 30_000],
    [' 30 ', 30_000],
    ['0', 0],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
    ['Sun Nov  6 08:49:37 1994', 30_000],
    ['Sun, 06 Nov 1994 08:48:37 GMT', 0],
    ['Sun, 06 Nov 2094 08:48:37 GMT', maxRetryAfterMs],
    ['9'.repeat(400), maxRetryAfterMs],
  ])('of %s is read', (value, expected) => {
    expect(parseRetryAfter(value, now)).toBe(expected)
  })

  it.each(['', 'soon', '-1', '1.5', '0x10', '1e3', '1994-11-06T08:49:37Z', 'Sun, 99 Nov 1994 08:49:37 GMT'])(
    'of %j is ignored',
    (value) => {
      expect(parseRetryAfter(value, now)).toBeUndefined()
    },
  )
})
