import { expect, it } from 'vitest'
import { floodPauseMs } from '../../src/intake/flood-pause.ts'

it('a flood goes on without a pause beside few callers', () => {
  expect(floodPauseMs(0, 80)).toBe(0)
  expect(floodPauseMs(31, 80)).toBe(0)
})

it('beside many, a flood waits for as long as its last parcel took', () => {
  expect(floodPauseMs(32, 80)).toBe(80)
})

it('a pause has a bound, also after a parcel that took long, and before the first one', () => {
  expect(floodPauseMs(1_000, 5_000)).toBe(100)
  expect(floodPauseMs(1_000, Infinity)).toBe(100)
})
