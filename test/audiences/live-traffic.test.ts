import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createLiveTraffic } from '../../src/audiences/live-traffic.ts'

/** Longer than the rate stays as it is. */
const adjusted = 120

function keepBusy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

it('lets syncs go as fast as they can while there are no live events', () => {
  expect(createLiveTraffic().callsPerSecond()).toBe(Infinity)
})

it('slows syncs down beside live events while the thread is busy, and lets them speed up while it has time', async () => {
  const traffic = createLiveTraffic()
  traffic.note()
  const first = traffic.callsPerSecond()
  keepBusy(adjusted)
  // Time on the thread counts once it has gone round.
  await sleep(1)
  const busy = traffic.callsPerSecond()
  expect(busy).toBeLessThan(first)
  traffic.note()
  await sleep(adjusted)
  expect(traffic.callsPerSecond()).toBeGreaterThan(busy)
})

it('lets a longer work rest between its pieces, beside live events only', async () => {
  const traffic = createLiveTraffic()
  const pieceMs = 60
  const piece = () => sleep(pieceMs, 'done')
  const took = async () => {
    const startedAt = performance.now()
    expect(await traffic.inTurn(piece)).toBe('done')
    return performance.now() - startedAt
  }
  const alone = await took()
  traffic.note()
  expect(await took()).toBeGreaterThan(alone + pieceMs)
  await expect(traffic.inTurn(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
})
