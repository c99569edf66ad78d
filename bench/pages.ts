/** `npm run bench:pages`: what a page of the web app weighs, and how soon it shows what it is for, in a browser that knows nothing of it. */

import type { Browser } from 'playwright-core'
import type { Delivery } from '../src/schemas/delivery.ts'
import type { Destination } from '../src/schemas/destination.ts'
import type { Source } from '../src/schemas/source.ts'
import { launchChromium } from '../test/support/chromium.ts'
import { openReport, quantile } from './support/figures.ts'
import { adminToken, startNode, type BenchNode } from './support/node.ts'
import { startBenchReceiver } from './support/receiver.ts'

const deliveries = Number(process.env['BENCH_DELIVERIES'] ?? 5_000)
const repeats = Number(process.env['BENCH_REPEATS'] ?? 7)
/** One page alone. */
const only = process.env['BENCH_PAGE']
const batchSize = 500
const arrivalLimitMs = 300_000

const rowsGoalMs = 1_000
const windowMs = 1_000
const weightGoalKb = 300

interface Shown {
  source: Source
  destination: Destination
  delivery: Delivery
}

/** Pages with the selector of what they are for. */
const pagesOf = ({ source, destination, delivery }: Shown): [path: string, selector: string][] => [
  ['/', '.uplot canvas'],
  ['/deliveries', 'tbody tr'],
  [`/deliveries/${encodeURIComponent(delivery.id)}`, 'pre'],
  ['/sources', 'tbody tr'],
  [`/sources/${source.id}`, 'pre'],
  ['/destinations', 'tbody tr'],
  [`/destinations/${destination.id}`, '.uplot canvas'],
  ['/catalog/webhooks', 'form input'],
  ['/turned-away', 'h1'],
  ['/audiences', 'h1'],
  ['/settings', 'tbody tr'],
]

async function deliver(node: BenchNode, url: string): Promise<Shown> {
  const source = await node.api<Source>('POST', '/sources', { name: 'Website' })
  const destination = await node.api<Destination>('POST', '/destinations', {
    name: 'Webhooks',
    type: 'webhooks',
    sourceIds: [source.id],
    settings: { webhooks: [{ url }] },
  })
  for (let sent = 0; sent < deliveries; sent += batchSize) {
    const batch = Array.from({ length: Math.min(batchSize, deliveries - sent) }, (_, index) => {
      const id = `m-${sent + index}`
      return {
        type: 'track',
        event: 'Order Completed',
        messageId: id,
        userId: `user-${id}`,
        properties: { total: 12.5 },
      }
    })
    const answer = await fetch(`${node.url}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}` },
      body: JSON.stringify({ batch }),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
  const { items } = await node.api<{ items: Delivery[] }>('GET', '/deliveries?limit=1')
  if (items[0] === undefined) throw new Error('no delivery is listed')
  return { source, destination, delivery: items[0] }
}

/** @returns milliseconds until the selector is shown, and bytes that came over the network until the page was shown and a moment longer */
async function open(browser: Browser, url: string, selector: string): Promise<{ shownMs: number; bytes: number }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const session = await context.request.post(`${new URL(url).origin}/api/v1/session`, {
      data: { token: adminToken },
    })
    if (!session.ok()) throw new Error(await session.text())
    const page = await context.newPage()
    const sizes: Promise<number>[] = []
    page.on('requestfinished', (request) =>
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize)),
    )
    // A new window of the browser has work of its own.
    await page.waitForTimeout(windowMs)
    const begun = performance.now()
    await page.goto(url, { waitUntil: 'commit' })
    await page.locator(selector).first().waitFor()
    const shownMs = performance.now() - begun
    await page.waitForTimeout(300)
    return { shownMs, bytes: (await Promise.all(sizes)).reduce((total, size) => total + size, 0) }
  } finally {
    await context.close()
  }
}

const receiver = await startBenchReceiver()
const node = await startNode()
const browser = await launchChromium()
try {
  const shown = await deliver(node, receiver.url)
  await receiver.arrived(deliveries, arrivalLimitMs)
  const report = openReport(`${deliveries} deliveries, each page ${repeats} times in a browser that has nothing of it`)
  for (const [path, selector] of pagesOf(shown).filter(([path]) => only === undefined || path === only)) {
    const runs = []
    for (let repeat = 0; repeat < repeats; repeat++) runs.push(await open(browser, node.url + path, selector))
    const times = runs.map(({ shownMs }) => shownMs)
    const name = path.replace(/(?<=\/)(src_|dst_|event)\S+/, '…')
    const goal = path === '/deliveries' ? { most: rowsGoalMs } : undefined
    report.add(`${name}: all that came over the network`, Math.max(...runs.map(({ bytes }) => bytes)) / 1_000, 'KB', {
      most: weightGoalKb,
    })
    report.add(`${name}: shown, median`, quantile(times, 0.5), 'ms', goal)
    report.add(`${name}: shown, slowest`, Math.max(...times), 'ms', goal)
  }
  report.close()
} finally {
  await browser.close()
  await node.stop()
  receiver.stop()
}
