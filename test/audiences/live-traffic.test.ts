import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createLiveTraffic } from '../../src/audiences/live-traffic.ts'
import { until } from '../support/wait.ts'

/** Longer than the rate stays as it is. */
const adjusted = 120

function keepBusy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
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
  await until('the rate rises again', async () => {
    await sleep(adjusted)
    traffic.note()
    return traffic.callsPerSecond() > busy
  })
})

it('lets a longer work rest between its pieces, beside live events only', async () => {
  const traffic = createLiveTraffic()
  const pieceMs = 60
  let rested = false
  const piece = async () => {
    const startedAt = performance.now()
    await sleep(pieceMs)
    const tookMs = performance.now() - startedAt
    rested = false
    // Shorter than the rest, which is longer than the piece.
    setTimeout(() => (rested = true), tookMs)
    return 'done'
  }
  const inTurn = async () => {
    expect(await traffic.inTurn(piece)).toBe('done')
    return rested
  }
  expect(await inTurn()).toBe(false)
  traffic.note()
  expect(await inTurn()).toBe(true)
  await expect(traffic.inTurn(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
})
