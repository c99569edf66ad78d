import { setTimeout as sleep } from 'node:timers/promises'

const firstPauseMs = 100
const longestPauseMs = 1_000

/** Asks again, at growing pauses, until `check` gives something.
 *  @returns undefined when it does not within `limitMs` */
export async function poll<Value>(
  limitMs: number,
  check: () => Promise<Value | undefined>,
): Promise<Value | undefined> {
  const deadline = performance.now() + limitMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const value = await check()
    if (value !== undefined || performance.now() > deadline) return value
    await sleep(pauseMs)
  }
}
