import { setTimeout as sleep } from 'node:timers/promises'

const firstPauseMs = 100
const longestPauseMs = 1_000

/** Asks again, at growing pauses, until `check` gives something.
 *  @param until  ends the wait; what `check` waits for should end by it as well
 *  @returns undefined when it gives nothing before */
export async function poll<Value>(
  until: AbortSignal,
  check: () => Promise<Value | undefined>,
): Promise<Value | undefined> {
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
      const value = await check()
      if (value !== undefined) return value
      await sleep(pauseMs, undefined, { signal: until })
    }
  } catch (error) {
    if (until.aborted) return undefined
    throw error
  }
}
