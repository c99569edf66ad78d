/**
 * One run in a process of its own: 100,000 track calls through one library. Prints what it measured as JSON. Plain
 * JavaScript, and only the library measured is loaded, so that nothing else counts as memory.
 */

import { log } from 'node:console'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'

const CALLS = 100_000
/** With pace `steady`, what else the program does gets its turn after so many calls. */
const STEP = 100

const [library, pace, endpoint] = process.argv.slice(2)

const open = {
  async postrider() {
    const { Analytics } = await import('@postrider/analytics')
    const analytics = new Analytics('key', { endpoint })
    return { analytics, close: () => analytics.close({ timeoutMs: 300_000 }) }
  },
  async segment() {
    const { Analytics } = await import('@segment/analytics-node')
    const analytics = new Analytics({ writeKey: 'key', host: endpoint, path: '/v1/batch' })
    return { analytics, close: () => analytics.closeAndFlush({ timeout: 300_000 }) }
  },
}

const { analytics, close } = await open[library]()
const start = performance.now()
for (let i = 0; i < CALLS; i++) {
  analytics.track({
    userId: `user-${i % 1_000}`,
    event: 'Order Completed',
    properties: { orderId: `order-${i}`, total: 12.5 + (i % 100), currency: 'EUR', products: ['a-1', 'b-2'] },
  })
  if (pace === 'steady' && i % STEP === 0) await setImmediate()
}
const called = performance.now()
await close()
const seconds = (performance.now() - start) / 1_000
log(
  JSON.stringify({
    callsPerSecond: Math.round(CALLS / seconds),
    callMicroseconds: Math.round(((called - start) * 1_000) / CALLS),
    peakMegabytes: Math.round(process.resourceUsage().maxRSS / 1_024),
  }),
)
