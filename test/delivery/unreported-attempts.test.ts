import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Attempt } from '../../src/contracts/delivery.ts'
import { watchStandstills } from '../../src/delivery/standstills.ts'
import { watchUnreported } from '../../src/delivery/unreported-attempts.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const attempt: Attempt = { endpointId: 'ep_1', at: '2026-01-01T00:00:00.000Z', durationMs: 5, status: 503 }

function watch() {
  const kept: string[] = []
  const unreported = watchUnreported(watchStandstills(), (deliveryId) => kept.push(deliveryId))
  const standStill = (ms: number): void => void vi.setSystemTime(Date.now() + ms)
  return { kept, unreported, standStill }
}

it('keeps what ended shortly before this process stood still', () => {
  const { kept, unreported, standStill } = watch()
  unreported.note('long reported', attempt)
  vi.advanceTimersByTime(12_000)
  unreported.note('a while ago', attempt)
  vi.advanceTimersByTime(8_000)
  unreported.note('just now', attempt)
  expect(kept).toEqual([])
  standStill(30_000)
  vi.advanceTimersByTime(1_000)
  expect(kept).toEqual(['a while ago', 'just now'])
  standStill(30_000)
  vi.advanceTimersByTime(1_000)
  expect(kept).toHaveLength(2)
})

it('keeps nothing where time goes on as it should, however long that is', () => {
  const { kept, unreported } = watch()
  unreported.note('reported', attempt)
  vi.advanceTimersByTime(60_000)
  unreported.stop()
  expect(kept).toEqual([])
})

it('looks once more when it ends', () => {
  const { kept, unreported, standStill } = watch()
  unreported.note('just now', attempt)
  standStill(3_000)
  unreported.stop()
  expect(kept).toEqual(['just now'])
})
