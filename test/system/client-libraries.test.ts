/** Client libraries, ours and others, as they are published: from a call in a program to the body that an endpoint
 *  receives. */

import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Analytics } from '@segment/analytics-node'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeFreshProject } from '../../client/test/support/fresh-project.ts'
import { startPages } from '../../client/test/support/pages.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { describeInBrowser, launchChromium } from '../support/chromium.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

interface Client {
  identify(message: object): unknown
  track(message: object): unknown
  page(message: object): unknown
  group(message: object): unknown
  alias(message: object): unknown
}

interface LegacyClient extends Client {
  flush(callback: (error?: Error) => void): unknown
}

type LegacyConstructor = new (writeKey: string, options: object) => LegacyClient

// Two of them are CommonJS.
const load = createRequire(import.meta.url)
const SegmentLegacy = load('analytics-node') as LegacyConstructor
const Rudder = load('@rudderstack/rudder-sdk-node') as LegacyConstructor

const flushed = (client: LegacyClient): Promise<void> =>
  new Promise((resolve, reject) => client.flush((error) => (error ? reject(error) : resolve())))

/** Makes a client of a node and hands it to `use`; resolves when it has sent everything. */
type Library = (url: string, writeKey: string, use: (client: Client) => void) => Promise<void>

const libraries: Record<string, Library> = {
  async '@segment/analytics-node'(host, writeKey, use) {
    const client = new Analytics({ host, writeKey })
    use(client)
    await client.closeAndFlush()
  },
  async 'analytics-node'(host, writeKey, use) {
    const client = new SegmentLegacy(writeKey, { host, flushAt: 20 })
    use(client)
    await flushed(client)
  },
  async '@rudderstack/rudder-sdk-node'(url, writeKey, use) {
    const client = new Rudder(writeKey, { dataPlaneUrl: url, flushAt: 20 })
    use(client)
    await flushed(client)
  },
}

const calls = (client: Client): void => {
  client.identify({ userId: 'u1', traits: { plan: 'pro' } })
  client.track({ userId: 'u1', event: 'Order completed', properties: { total: 19.5 } })
  client.page({ userId: 'u1', name: 'Pricing', properties: { path: '/pricing' } })
  client.group({ userId: 'u1', groupId: 'g1', traits: { seats: 3 } })
  client.alias({ userId: 'u1', previousId: 'anonymous-1' })
}

const bodies = [
  { version: 1, type: 'alias', 'Previous ID': 'anonymous-1', 'User ID': 'u1' },
  { version: 1, type: 'group', userId: 'u1', groupId: 'g1', traits: { seats: 3 } },
  { version: 1, type: 'identify', userId: 'u1', traits: { plan: 'pro' } },
  { version: 1, type: 'page', userId: 'u1', name: 'Pricing', properties: { path: '/pricing' } },
  { version: 1, type: 'track', userId: 'u1', event: 'Order completed', properties: { total: 19.5 } },
]

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

describe('@postrider/analytics', () => {
  it('delivers what the first example of its README calls, packed and installed into an empty project', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const project = await makeFreshProject()
    try {
      await writeFile(join(project.folder, 'example.js'), await project.readmeExample())
      const env = { POSTRIDER_URL: node.url, POSTRIDER_WRITE_KEY: source.writeKey, DEBUG: 'analytics' }
      const { stderr } = await project.node(['example.js'], env)
      expect(stderr).toBe('analytics sent 2, rejected 0\n')
    } finally {
      await project.remove()
    }
    const delivered = (await receiver.received(2)).map(({ body }) => JSON.parse(body.toString()) as { type: string })
    expect(delivered.sort((a, b) => a.type.localeCompare(b.type))).toMatchObject([
      { version: 1, type: 'identify', userId: 'user-1', traits: { plan: 'pro' } },
      { version: 1, type: 'track', userId: 'user-1', event: 'Order Completed', properties: { total: 12.5 } },
    ])
  })
})

describeInBrowser('@postrider/analytics in a page of another site', () => {
  it('delivers what the page calls, as it is and compressed', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const pages = await startPages()
    const browser = await launchChromium()
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(pages)
    for (const gzip of [false, true]) {
      const stats = await page.evaluate(`(async () => {
        const { Analytics } = await import('/analytics.js')
        const analytics = new Analytics('${source.writeKey}', { endpoint: '${node.url}', gzip: ${gzip} })
        analytics.page({ anonymousId: 'a1', properties: { url: location.href, gzip: ${gzip} } })
        await analytics.close()
        return analytics.stats
      })()`)
      expect(stats).toEqual({ pending: 0, delivered: 1, dropped: 0 })
    }
    const bodies = (await receiver.received(2)).map(({ body }) => JSON.parse(body.toString()) as object)
    const call = { version: 1, type: 'page', anonymousId: 'a1' }
    for (const gzip of [false, true])
      expect(bodies).toContainEqual(
        expect.objectContaining({ ...call, properties: { url: `${pages}/`, gzip } }) as unknown,
      )
  })
})

describe('a library of others', () => {
  it.each(Object.keys(libraries))('%s reaches the endpoint with every call, once', async (name) => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    await libraries[name]?.(node.url, source.writeKey, calls)
    const received = () => receiver.requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
    await until('all types have arrived', () => new Set(received().map(({ type }) => type)).size === bodies.length)
    const sorted = received().sort((a, b) => String(a['type']).localeCompare(String(b['type'])))
    expect(sorted).toMatchObject(bodies)
    for (const body of sorted) {
      expect(body['timestamp']).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
      expect(body['messageId']).toMatch(/./)
      expect(JSON.stringify(body)).not.toContain(source.writeKey)
    }
  })
})
