/** `npm run bench:lists`: lists, counts, the overview and a delivery's page with many workflows in the embedded server. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Delivery } from '../src/schemas/delivery.ts'
import type { Destination } from '../src/schemas/destination.ts'
import type { Source } from '../src/schemas/source.ts'
import { databaseFile } from '../src/temporal/server-process.ts'
import { copyVisibility } from './support/copy-visibility.ts'
import { openReport, quantile } from './support/figures.ts'
import { startNode, type BenchNode } from './support/node.ts'
import { startBenchReceiver } from './support/receiver.ts'

const workflows = Number(process.env['BENCH_WORKFLOWS'] ?? 100_000)
const repeats = Number(process.env['BENCH_REPEATS'] ?? 50)
const listGoalMs = 100
const countGoalMs = 200

/** What is copied: of a hundred deliveries, so many come to each end. */
const mixture = [
  { name: 'Shop', status: 200, outcome: 'delivered', events: 94 },
  { name: 'Blog', status: 410, outcome: 'failed', events: 3 },
  { name: 'App', status: 503, outcome: 'retrying', events: 3 },
]
const templates = 100

/** Younger than the retention, or the server might begin to remove what it finds. */
const spreadSeconds = 70 * 3600

/** The next attempt comes after the bench. */
const environment = { POSTRIDER_RETRY_INITIAL: '2h', POSTRIDER_RETRY_MAX: '2h' }

interface Connection {
  source: Source
  destination: Destination
}

interface Page {
  items: Delivery[]
  nextCursor: string | null
}

async function sendTemplates(node: BenchNode): Promise<Connection[]> {
  const receiver = await startBenchReceiver((request, response) => {
    response.writeHead(Number(request.url?.slice(1))).end()
  })
  let sent = 0
  const connections: Connection[] = []
  for (const { name, status, events } of mixture) {
    const source = await node.api<Source>('POST', '/sources', { name })
    const connect = (as: string): Promise<Destination> =>
      node.api('POST', '/destinations', {
        name: as,
        type: 'webhooks',
        sourceIds: [source.id],
        settings: { webhooks: [{ url: `${receiver.url}${status}` }] },
      })
    const destination = await connect(name)
    connections.push({ source, destination })
    // What goes to two destinations has them in different places.
    if (name === mixture[0]?.name) connections.push({ source, destination: await connect(`${name} again`) })
    const batch = Array.from({ length: events }, () => {
      const id = `template-${sent++}`
      return { type: 'track', event: 'Bench', messageId: id, userId: `user-${id}`, properties: { plan: 'pro' } }
    })
    const answer = await fetch(`${node.url}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}` },
      body: JSON.stringify({ batch }),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
  for (const { outcome, events } of mixture) {
    while ((await node.api<{ count: number }>('GET', `/deliveries/count?status=${outcome}`)).count < events)
      await sleep(100)
  }
  receiver.stop()
  return connections
}

/** The paths that are timed, by what they show. */
async function pathsOf(
  node: BenchNode,
  [shop, again, blog, app]: Connection[],
): Promise<[name: string, path: string][]> {
  const ofShop = `sourceId=${shop?.source.id}`
  const dayAgo = new Date(Date.now() - 24 * 3600_000).toISOString()
  const copy = `copy-${Math.floor(workflows / templates / 2)}-7`
  return [
    ['first page', '/deliveries'],
    ['second page', `/deliveries${await cursorAfter(node, 1)}`],
    ['21st page', `/deliveries${await cursorAfter(node, 20)}`],
    ['delivered', '/deliveries?status=delivered'],
    ['failed', '/deliveries?status=failed'],
    ['retrying', '/deliveries?status=retrying'],
    ['cancelled (none)', '/deliveries?status=cancelled'],
    ['held (none)', '/deliveries?status=held'],
    ['discarded (none)', '/deliveries?status=discarded'],
    ['of a large source', `/deliveries?${ofShop}`],
    ['of a small source', `/deliveries?sourceId=${blog?.source.id}`],
    ['to a large destination', `/deliveries?destinationId=${shop?.destination.id}`],
    ['to a large second destination', `/deliveries?destinationId=${again?.destination.id}`],
    ['delivered, to a large destination', `/deliveries?status=delivered&destinationId=${shop?.destination.id}`],
    ['failed, to a large destination (none)', `/deliveries?status=failed&destinationId=${shop?.destination.id}`],
    ['failed, to a small destination', `/deliveries?status=failed&destinationId=${blog?.destination.id}`],
    ['delivered, of a small source (none)', `/deliveries?status=delivered&sourceId=${blog?.source.id}`],
    ['delivered, of a user', `/deliveries?status=delivered&userId=user-${copy}`],
    ['to a small destination', `/deliveries?destinationId=${app?.destination.id}`],
    [
      'delivered, of a source, to a destination',
      `/deliveries?status=delivered&${ofShop}&destinationId=${shop?.destination.id}`,
    ],
    ['of a type', '/deliveries?type=track'],
    ['of a type that is not there', '/deliveries?type=alias'],
    ['of a user', `/deliveries?userId=user-${copy}`],
    ['with a message id', `/deliveries?messageId=${copy}`],
    ['since yesterday', `/deliveries?since=${dayAgo}`],
    ['until yesterday', `/deliveries?until=${dayAgo}`],
    ['count of all', '/deliveries/count'],
    ['count of delivered', '/deliveries/count?status=delivered'],
    ['count of failed since yesterday', `/deliveries/count?status=failed&since=${dayAgo}`],
    ['count to a large destination', `/deliveries/count?destinationId=${shop?.destination.id}`],
    [
      'count of delivered to a large destination',
      `/deliveries/count?status=delivered&destinationId=${shop?.destination.id}`,
    ],
    ['count of failed to a large destination', `/deliveries/count?status=failed&destinationId=${shop?.destination.id}`],
    ['overview', '/overview'],
    ['overview of a source', `/overview?${ofShop}`],
    ['overview of a destination', `/overview?destinationId=${shop?.destination.id}`],
    ['overview of 3 days', `/overview?since=${new Date(Date.now() - 72 * 3600_000).toISOString()}`],
    [
      'overview of 3 days of a destination',
      `/overview?since=${new Date(Date.now() - 72 * 3600_000).toISOString()}&destinationId=${shop?.destination.id}`,
    ],
    ['page of a delivery', `/deliveries/${encodeURIComponent(`event/${shop?.source.id}/template-7`)}`],
  ]
}

/** The cursor of the page after so many. */
async function cursorAfter(node: BenchNode, pages: number): Promise<string> {
  let query = ''
  for (let page = 0; page < pages; page++) {
    const { nextCursor } = await node.api<Page>('GET', `/deliveries${query}`)
    query = `?cursor=${encodeURIComponent(nextCursor ?? '')}`
  }
  return query
}

/** Counts go through all that they count, and no list waits for them. */
const isCount = (path: string): boolean => /^\/(deliveries\/count|overview)/.test(path)

async function timesOf(node: BenchNode, path: string): Promise<number[]> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    const begun = performance.now()
    await node.api('GET', path)
    times.push(performance.now() - begun)
  }
  return times
}

async function withNode<Result>(dataDir: string, work: (node: BenchNode) => Promise<Result>): Promise<Result> {
  const node = await startNode(environment, dataDir)
  try {
    return await work(node)
  } finally {
    await node.stop()
  }
}

async function measure(node: BenchNode, connections: Connection[]): Promise<void> {
  const { count } = await node.api<{ count: number }>('GET', '/deliveries/count')
  const report = openReport(`${count} workflows in the embedded server, each call ${repeats} times`)
  for (const [name, path] of await pathsOf(node, connections)) {
    const times = await timesOf(node, path)
    report.add(`${name}: p50`, quantile(times, 0.5), 'ms')
    report.add(`${name}: p95`, quantile(times, 0.95), 'ms', { most: isCount(path) ? countGoalMs : listGoalMs })
  }
  report.close()
}

const dataDir = await mkdtemp(join(tmpdir(), 'postrider-bench-'))
try {
  const connections = await withNode(dataDir, sendTemplates)
  await copyVisibility({ file: join(dataDir, databaseFile), copies: Math.ceil(workflows / templates), spreadSeconds })
  await withNode(dataDir, (node) => measure(node, connections))
} finally {
  await rm(dataDir, { recursive: true, force: true })
}
