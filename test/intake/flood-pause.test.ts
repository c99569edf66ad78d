/** When a flood of parcels pauses for callers. */

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createFloodPause } from '../../src/intake/flood-pause.ts'

const parcelMs = 60
const work = (): void => {
  const end = performance.now() + parcelMs
  while (performance.now() < end);
}

it('is longer than the parcel before it took where the main thread has no time to spare', () => {
  const pause = createFloodPause(() => false)
  pause.begin()
  work()
  const longer = pause.lengthMs()
  expect(longer).toBeGreaterThan(parcelMs)
  for (let parcel = 0; parcel < 10; parcel++) work()
  expect(pause.lengthMs()).toBeGreaterThanOrEqual(longer)
  expect(pause.lengthMs()).toBeLessThan(5 * parcelMs)
})

it('is none where the main thread has time to spare, and none where the inbox is half full', async () => {
  const pause = createFloodPause(() => false)
  pause.begin()
  await sleep(5 * parcelMs)
  expect(pause.lengthMs()).toBe(0)

  const half = createFloodPause(() => true)
  half.begin()
  work()
  expect(half.lengthMs()).toBe(0)
})
