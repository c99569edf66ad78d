/** Events that would have to wait travel in parcels: each arrives once and is listed, also when a node is killed. */

import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { ParcelResult } from '../../src/contracts/parcels.ts'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { startReceiver } from '../support/receiver.ts'
import { expectNoUntoldRepeats, messageIdsOf } from '../support/repeats.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 240_000
const limitMs = 120_000

type Api = Pick<TestApp, 'api' | 'post'>

const track = (messageId: string) => ({ type: 'track', userId: 'u1', event: 'Carried', messageId })
const ids = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

/** Posts batches of 500. */
async function postAll({ post }: Api, { writeKey }: Source, messageIds: readonly string[]): Promise<void> {
  for (let start = 0; start < messageIds.length; start += 500) {
    const batch = messageIds.slice(start, start + 500).map(track)
    expect((await post('/batch', writeKey, { batch })).status).toBe(200)
  }
}

const countOf = async ({ api }: Api, query: string): Promise<number> => {
  let total = 0
  let cursor: string | null = ''
  while (cursor !== null) {
    const path: string = `/deliveries?limit=200&${query}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const { items, nextCursor } = (await api<Page<Delivery>>('GET', path)).body
    total += items.length
    cursor = nextCursor
  }
  return total
}

describe('a flood', () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  const parcels = async (): Promise<number> =>
    (await node.app.temporal.client.workflow.count(`WorkflowType = 'deliverParcel'`)).count

  it('travels in parcels, arrives once and is listed one by one', { timeout }, async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const messageIds = ids('flood', 1_500)
    await postAll(node, source, messageIds)
    await until('all have arrived', () => new Set(messageIdsOf(receiver)).size >= messageIds.length, limitMs)
    await until('all are listed as delivered', async () => {
      return (await countOf(node, `status=delivered&sourceId=${source.id}`)) === messageIds.length
    })
    expect([...new Set(messageIdsOf(receiver))].toSorted()).toEqual(messageIds.toSorted())
    await expectNoUntoldRepeats(node, receiver, source.id)
    await until('parcels are listed', async () => (await parcels()) >= messageIds.length / 100)
  })

  it('is written down as it is delivered, while other events of its parcel hang', { timeout }, async () => {
    await using receiver = await startReceiver()
    // Some answers come while those before are being written.
    receiver.answer((_, index) => (index < 40 ? { delayMs: 2 * index } : 'hang'))
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const messageIds = ids('written', 100)
    await postAll(node, source, messageIds)
    await until('what was answered is listed', async () => {
      return (await countOf(node, `status=delivered&sourceId=${source.id}`)) >= 40
    })
    expect(receiver.requests.filter(({ isAbandoned }) => isAbandoned)).toEqual([])
    receiver.answer({})
    await until('all are delivered', () => new Set(messageIdsOf(receiver)).size === messageIds.length, limitMs)
  })

  it('is recognised when it comes again, whether its events travelled alone or together', { timeout }, async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const [alone = '', ...together] = ids('again', 301)
    expect((await node.post('/track', source.writeKey, track(alone))).status).toBe(200)
    await receiver.received(1)
    await postAll(node, source, [...together, alone])
    await until('all have arrived', () => new Set(messageIdsOf(receiver)).size > together.length, limitMs)
    for (const messageId of together.slice(0, 3))
      expect((await node.post('/track', source.writeKey, track(messageId))).status).toBe(200)
    await postAll(node, source, together)
    const last = 'again-at-last'
    await postAll(node, source, [last])
    await until('one more arrives', () => messageIdsOf(receiver).includes(last), limitMs)
    expect([...new Set(messageIdsOf(receiver))].toSorted()).toEqual([alone, ...together, last].toSorted())
    await expectNoUntoldRepeats(node, receiver, source.id)
  })
})

it('of many sources at once shares parcels, and each source has its own in lists and counts', { timeout }, async () => {
  await using node = await startTestApp()
  await using receiver = await startReceiver()
  const sources = await Promise.all(Array.from({ length: 30 }, () => node.createSource()))
  const destinations = await Promise.all(sources.map((source) => node.connect([source], [receiver.url])))
  const postEach = (prefix: string, count: number) =>
    Promise.all(sources.map((source, n) => postAll(node, source, ids(`${prefix}-${n}`, count))))
  const arrived = (count: number) => () => new Set(messageIdsOf(receiver)).size >= count
  await postEach('known', 1)
  await until('each endpoint is known to answer', arrived(sources.length), limitMs)
  await Promise.all([postEach('a', 8), postEach('b', 8)])
  const perSource = 1 + 8 + 8
  await until('all have arrived', arrived(sources.length * perSource), limitMs)

  for (const [n, source] of sources.entries())
    await until('its deliveries are listed', async () => {
      const [ofSource, there] = await Promise.all([
        countOf(node, `status=delivered&sourceId=${source.id}`),
        countOf(node, `status=delivered&destinationId=${destinations[n]?.id ?? ''}`),
      ])
      return ofSource === perSource && there === perSource
    })
  const { workflow } = node.app.temporal.client
  const sourcesIn = async (workflowId: string): Promise<number> => {
    const { events } = (await workflow.getHandle(workflowId).result()) as ParcelResult
    return new Set(Object.keys(events).map((id) => id.split('/')[1])).size
  }
  await until('a parcel has events of several sources', async () => {
    for await (const { workflowId } of workflow.list({ query: `WorkflowType = 'deliverParcel'` }))
      if ((await sourcesIn(workflowId)) > 1) return true
    return false
  })
})

it('has a workflow for each event where parcels are off', { timeout }, async () => {
  await using node = await startTestApp({ environment: { POSTRIDER_PARCELS: 'off' } })
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  await postAll(node, source, ids('single', 60))
  await until('all have arrived', () => new Set(messageIdsOf(receiver)).size === 60, limitMs)
  const { workflow } = node.app.temporal.client
  await until('each is listed', async () => (await workflow.count(`WorkflowType = 'deliverEvent'`)).count === 60)
  expect((await workflow.count(`WorkflowType = 'deliverParcel'`)).count).toBe(0)
})

it('loses nothing when a node is killed in the midst of a flood, again and again', { timeout }, async () => {
  const namespace = await createNamespace()
  const dataDir = await makeDataFolder()
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  await using receiver = await startReceiver()
  const messageIds = ids('killed', 2_000)
  const start = async () => {
    const node = await startNodeProcess({ namespace, dataDir })
    onTestFinished(() => node.stop())
    return node
  }
  let node = await start()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  await postAll(node, source, messageIds)
  for (const share of [0.1, 0.4, 0.7]) {
    await until('a part has arrived', () => receiver.requests.length >= messageIds.length * share, limitMs)
    await node.kill()
    node = await start()
  }
  await until('all have arrived', () => new Set(messageIdsOf(receiver)).size === messageIds.length, limitMs)
  await until(
    'all are listed as delivered',
    async () => (await countOf(node, 'status=delivered')) === messageIds.length,
  )
  expect(await countOf(node, '')).toBe(messageIds.length)
  // At most what was under way at each kill, and what was not written down yet.
  expect(receiver.requests.length - messageIds.length).toBeLessThan(3 * 400)
})
