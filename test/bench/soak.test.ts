/** How a soak is judged. */

import { describe, expect, it } from 'vitest'
import { judge } from '../../bench/soak/judge.ts'
import type { Sample } from '../../bench/soak/samples.ts'

const steady = { nodeMb: 300, serverMb: 100, sockets: 80, files: 60 }
/** 1,000 events between two looks, each of which adds 2 KB to Temporal's database. */
const samplesOf = (count: number, change: (index: number) => Partial<Sample> = () => ({})): Sample[] =>
  Array.from({ length: count }, (_, index) => ({
    seconds: index * 10,
    delivered: index * 1_000,
    ...steady,
    databaseMb: 40,
    walMb: 64,
    temporalMb: 10 + (index * 2_000 * 1_000) / 1_048_576,
    ...change(index),
  }))
const failing = (samples: Sample[]): string[] =>
  judge(samples)
    .filter(({ hasLevelledOff }) => !hasLevelledOff)
    .map(({ figure }) => figure)

describe('a soak', () => {
  it('has levelled off where nothing grows but what Temporal keeps', () => {
    const verdicts = judge(samplesOf(30))
    expect(failing(samplesOf(30))).toEqual([])
    expect(verdicts.map(({ figure }) => figure)).toHaveLength(7)
    const temporal = verdicts.find(({ figure }) => figure === 'database of Temporal')
    expect(temporal?.middle).toBeCloseTo(2_000)
    expect(temporal?.last).toBeCloseTo(2_000)
  })

  it('has levelled off where it grew in its first third alone', () => {
    expect(failing(samplesOf(30, (index) => ({ nodeMb: 200 + Math.min(index, 10) * 30 })))).toEqual([])
  })

  it.each([
    ['memory of the node', (index: number) => ({ nodeMb: 300 + index * 5 })],
    ['memory of the server', (index: number) => ({ serverMb: 100 + index * 5 })],
    ['sockets', (index: number) => ({ sockets: 80 + index * 2 })],
    ['other open files', (index: number) => ({ files: 60 + index })],
    ["write-ahead log of Postrider's database", (index: number) => ({ walMb: 64 + index * 10 })],
    ["Postrider's database", (index: number) => ({ databaseMb: 40 + index ** 2 / 10 })],
    ['database of Temporal', (index: number) => ({ temporalMb: 10 + index ** 2 / 10 })],
  ])('has not levelled off where it still grows: %s', (figure, change) => {
    expect(failing(samplesOf(30, change))).toEqual([figure])
  })

  it('is not judged by too few looks', () => {
    expect(() => judge(samplesOf(5))).toThrow(RangeError)
  })
})
