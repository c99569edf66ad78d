/** Waiting for a condition, with a deadline. */

import { setTimeout as sleep } from 'node:timers/promises'

const pauseMs = 50

/** Asks again until `check` gives something else than undefined or false.
 *  @throws Error with `what` when it does not within `limitMs` */
export async function until<Value>(
  what: string,
  check: () => Promise<Value | undefined | false> | Value | undefined | false,
  limitMs = 90_000,
): Promise<Value> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const value = await check()
    if (value !== undefined && value !== false) return value
    if (performance.now() > deadline) throw new Error(`${what}: not within ${limitMs} ms`)
    await sleep(pauseMs)
  }
}
