import { describe, expect, it } from 'vitest'
import { createStartPace } from '../../src/intake/start-pace.ts'

/** Starts that take so many milliseconds, one after the other. */
async function run(start: (ms: number) => Promise<unknown>, ms: number, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await start(ms)
}

describe('the pace of starts', () => {
  it('goes down to one or two at a time while starts queue, and up again when they do not', async () => {
    let time = 0
    const pace = createStartPace(() => time)
    const start = pace.watch((ms: number) => Promise.resolve((time += ms)))
    await run(start, 5, 20)
    const free = pace.limit()
    await run(start, 80, 25)
    expect(pace.limit()).toBeLessThanOrEqual(2)
    await run(start, 5, 60)
    expect(pace.limit()).toBeGreaterThanOrEqual(4)
    expect(free).toBeGreaterThanOrEqual(8)
  })

  it('does not take a start that failed for a quick one', async () => {
    const pace = createStartPace()
    const before = pace.limit()
    const start = pace.watch(() => Promise.reject(new Error('away')))
    for (let time = 0; time < 20; time++) await expect(start()).rejects.toThrow('away')
    expect(pace.limit()).toBe(before)
  })
})
