import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { writeGathered } from '../src/gathered-writes.ts'

it('writes one time after the other, also when a write is asked for while the timer has begun one', async () => {
  let gathered: number[] = []
  const written: number[][] = []
  let underWay = 0
  const writes = writeGathered(async () => {
    expect(++underWay).toBe(1)
    const batch = gathered
    gathered = []
    await sleep(20)
    written.push(batch)
    underWay--
  }, 5)
  for (let n = 0; n < 10; n++) {
    gathered.push(n)
    await sleep(7)
    if (n % 3 !== 0) continue
    await writes.written()
    expect(written.flat()).toContain(n)
  }
  await writes.written()
  await writes.end()
  expect(written.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  const times = written.length
  await sleep(30)
  expect(written).toHaveLength(times)
})
