/** An upgrade node by node, and the way back: nodes of version 0.1.0 and of this one, side by side on one Temporal server and one
 *  PostgreSQL. What either acknowledged arrives, whichever of them is killed; what is set on one counts on the other. */

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startTemporalCluster, type TemporalCluster } from '../support/temporal-cluster.ts'
import { requestsOf } from '../support/told.ts'
import { until } from '../support/wait.ts'
import { checkOutFormerVersion, type FormerVersion } from './former-version.ts'
import { startNode, type PostriderNode } from './postrider-node.ts'

const LIMIT_MS = 150_000

interface Source {
  id: string
  writeKey: string
}

describe.skipIf(findPostgres() === undefined)('version 0.1.0 and this one on one cluster', () => {
  let postgres: PostgresServer
  let cluster: TemporalCluster
  let receiver: Receiver
  let former: FormerVersion
  let source: Source
  const nodes: PostriderNode[] = []
  let startFormer: (others?: Record<string, string>) => Promise<PostriderNode>
  let startCurrent: (others?: Record<string, string>) => Promise<PostriderNode>

  beforeAll(async () => {
    former = await checkOutFormerVersion()
    postgres = await startPostgres()
    cluster = await startTemporalCluster({ postgres, binaries: inject('temporalBinaries'), cli: inject('temporalCli') })
    receiver = await startReceiver()
    const settings = {
      DATABASE_URL: await postgres.createDatabase(),
      TEMPORAL_ADDRESS: cluster.address,
      POSTRIDER_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      POSTRIDER_ALLOWED_NETWORKS: '127.0.0.0/8',
      POSTRIDER_RETRY_INITIAL: '500ms',
      POSTRIDER_RETRY_MAX: '2s',
    }
    const token = randomBytes(16).toString('hex')
    const start = async (program?: string[], others: Record<string, string> = {}): Promise<PostriderNode> => {
      const node = await startNode({ ...settings, ...others }, token, program)
      nodes.push(node)
      await node.ready()
      return node
    }
    startFormer = (others) => start(former.program, others)
    startCurrent = (others) => start(undefined, others)
  })

  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    await receiver.close()
    await cluster.stop()
    await postgres.stop()
    await former[Symbol.asyncDispose]()
  })

  it('goes forward: what the former version began, the new one ends', async () => {
    const old = await startFormer()
    source = await old.manage<Source>('POST', '/sources', { name: 'Shop' })
    await old.manage('POST', '/destinations', {
      name: 'Warehouse',
      type: 'webhooks',
      sourceIds: [source.id],
      settings: { sharedSecret: 'a shared secret', webhooks: [{ url: `${receiver.url}/events` }] },
    })
    const begun = await beginRetried(old, 'forward')

    const current = await startCurrent()
    await expectShared(old, current)
    await expectShared(current, old)
    await kill(old)
    receiver.answer({})
    await untilEnded(current, begun)
    await expectDelivers(current)
  })

  it('goes back: the former version works on the tables and settings of the new one, and nothing is lost', async () => {
    const [current] = running()
    if (current === undefined) throw new Error('no node runs')
    const begun = await beginRetried(current, 'back')

    const old = await startFormer()
    await expectShared(current, old)
    await expectShared(old, current)
    await kill(current)
    const requests = (): number[] => begun.map((id) => requestsOf(receiver, id).length)
    const before = requests()
    receiver.answer({})
    await expectDelivers(old)
    // What a newer version has sealed in Temporal an older one cannot open: it waits for a node that can.
    expect(requests()).toEqual(before)
    await untilEnded(await startCurrent(), begun)
  })

  it('delivers a repeat that is posted to the former version again, where ids are hashed from the beginning', async () => {
    const others = { DATABASE_URL: await postgres.createDatabase(), TEMPORAL_NAMESPACE: 'begun-anew' }
    const current = await startCurrent(others)
    const { id, writeKey } = await current.manage<Source>('POST', '/sources', { name: 'Shop' })
    await current.manage('POST', '/destinations', {
      name: 'Warehouse',
      type: 'webhooks',
      sourceIds: [id],
      settings: { webhooks: [{ url: `${receiver.url}/events` }] },
    })
    const track = async (node: PostriderNode, messageId: string): Promise<void> =>
      expect(await node.track(writeKey, { messageId, userId: 'u1', event: 'Ordered' })).toBe(200)
    const untilArrived = (messageId: string, times: number): Promise<boolean> =>
      until(`${messageId} has arrived`, () => requestsOf(receiver, messageId).length === times, LIMIT_MS)
    await untilTakes(current, writeKey)
    await track(current, 'posted-twice')
    await untilArrived('posted-twice', 1)
    // The former version looks for the message id itself, and Temporal has its hash.
    const old = await startFormer(others)
    await untilTakes(old, writeKey)
    await track(old, 'posted-twice')
    await untilArrived('posted-twice', 2)
    // The new one knows it, whoever began it.
    await track(current, 'posted-twice')
    await track(current, 'posted-last')
    await untilArrived('posted-last', 1)
    expect(requestsOf(receiver, 'posted-twice')).toHaveLength(2)
  })

  const running = (): PostriderNode[] => nodes.filter((node) => node.isRunning())

  async function kill(node: PostriderNode): Promise<void> {
    process.kill(node.pid, 'SIGKILL')
    await node.exited
  }

  /** Single events and a batch, each of which the endpoint has refused once. @returns their message ids */
  async function beginRetried(node: PostriderNode, name: string): Promise<string[]> {
    await untilTakes(node, source.writeKey)
    receiver.answer({ status: 503 })
    const singles = Array.from({ length: 5 }, (_, index) => `${name}-single-${String(index)}`)
    const batch = Array.from({ length: 20 }, (_, index) => `${name}-batched-${String(index)}`)
    for (const messageId of singles)
      expect(await node.track(source.writeKey, { messageId, userId: 'u1', event: 'Ordered' })).toBe(200)
    const calls = batch.map((messageId) => ({ type: 'track', messageId, userId: 'u2', event: 'Ordered' }))
    const { status } = await fetch(`${node.url}/v1/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ writeKey: source.writeKey, batch: calls }),
    })
    expect(status).toBe(200)
    const ids = [...singles, ...batch]
    await until('one of each kind was tried', () => hasArrived(singles) && hasArrived(batch), LIMIT_MS)
    return ids
  }

  const hasArrived = (ids: readonly string[]): boolean => ids.some((id) => requestsOf(receiver, id).length > 0)

  /** A source that one node makes is one of the other's. */
  async function expectShared(from: PostriderNode, to: PostriderNode): Promise<void> {
    const made = await from.manage<Source>('POST', '/sources', { name: 'Made on the other node' })
    await untilTakes(to, made.writeKey)
    const { name } = await to.manage<{ name: string }>('GET', `/sources/${made.id}`)
    expect(name).toBe('Made on the other node')
  }

  const untilTakes = (node: PostriderNode, writeKey: string): Promise<boolean> =>
    until(
      'the write key is known',
      async () => (await node.track(writeKey, { userId: 'u1', event: 'Probe' })) === 200,
      LIMIT_MS,
    )

  async function expectDelivers(node: PostriderNode): Promise<void> {
    const messageId = `fresh-${randomBytes(6).toString('hex')}`
    expect(await node.track(source.writeKey, { messageId, userId: 'u1', event: 'Ordered' })).toBe(200)
    await until('a new event arrives', () => hasArrived([messageId]), LIMIT_MS)
  }

  /** Each delivery is told as delivered, and has an attempt that the endpoint took. */
  async function untilEnded(node: PostriderNode, ids: readonly string[]): Promise<void> {
    for (const id of ids)
      await until(
        `${id} is delivered`,
        async () => {
          const { items } = await node.manage<{ items: { status: string }[] }>('GET', `/deliveries?messageId=${id}`)
          return items.length === 1 && items[0]?.status === 'delivered'
        },
        LIMIT_MS,
      )
    for (const id of ids) expect(requestsOf(receiver, id).length).toBeGreaterThan(0)
  }
})
