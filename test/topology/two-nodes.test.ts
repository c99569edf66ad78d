/** Two Postrider nodes on one Temporal server and one PostgreSQL, as docker-compose.yml has them. */
import { createHmac, randomBytes } from 'node:crypto'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import type { ReceivedRequest, Receiver } from '../support/receiver.ts'
import { encryptionKeys, testConverter } from '../support/sealed-payloads.ts'
import { startTemporalCluster } from '../support/temporal-cluster.ts'
import type { TemporalCluster } from '../support/temporal-cluster.ts'
import { until } from '../support/wait.ts'
import { startNode } from './postrider-node.ts'
import type { PostriderNode } from './postrider-node.ts'

/** A change of settings counts on every node within this time. */
const SETTINGS_LIMIT_MS = 2_000
const DELIVERY_LIMIT_MS = 90_000
const SECRET = 'a shared secret'

interface Source {
  id: string
  writeKey: string
}
interface Destination {
  id: string
  settings: { webhooks: { id: string; url: string }[] }
}

describe.skipIf(findPostgres() === undefined)('two nodes on one Temporal server and one PostgreSQL', () => {
  let postgres: PostgresServer
  let cluster: TemporalCluster
  let a: PostriderNode
  let b: PostriderNode
  let receiver: Receiver
  let source: Source
  let destination: Destination

  beforeAll(async () => {
    postgres = await startPostgres()
    cluster = await startTemporalCluster({
      postgres,
      binaries: inject('temporalBinaries'),
      cli: inject('temporalCli'),
    })
    receiver = await startReceiver()
    const settings = {
      DATABASE_URL: await postgres.createDatabase(),
      TEMPORAL_ADDRESS: cluster.address,
      POSTRIDER_ENCRYPTION_KEYS: encryptionKeys,
      POSTRIDER_ALLOWED_NETWORKS: '127.0.0.0/8',
      POSTRIDER_RETRY_INITIAL: '500ms',
      TEMPORAL_UI_URL: 'http://temporal.example',
    }
    const adminToken = randomBytes(16).toString('hex')
    // Both at once on an empty database: each wants to make the tables and the search attributes.
    ;[a, b] = await Promise.all([startNode(settings, adminToken), startNode(settings, adminToken)])
    await Promise.all([a.ready(), b.ready()])

    source = await a.manage<Source>('POST', '/sources', { name: 'Shop' })
    destination = await a.manage<Destination>('POST', '/destinations', {
      name: 'Warehouse',
      type: 'webhooks',
      sourceIds: [source.id],
      settings: { sharedSecret: SECRET, webhooks: [{ url: `${receiver.url}/events` }] },
    })
    await Promise.all([untilDeliveredBy(a), untilDeliveredBy(b)])
  })

  afterAll(async () => {
    await Promise.all([a.stop(), b.stop()])
    await receiver.close()
    await cluster.stop()
    await postgres.stop()
  })

  it('both come up on an empty database at the same time', () => {
    expect([a.isRunning(), b.isRunning()]).toEqual([true, true])
  })

  it('what one node is told counts on the other within 2 s', async () => {
    const within = { timeout: SETTINGS_LIMIT_MS, interval: 20 }
    const made = await a.manage<Source>('POST', '/sources', { name: 'Made on one node' })
    await expect.poll(() => b.track(made.writeKey, trackOf('with a new key')), within).toBe(200)

    const rotated = await a.manage<Source>('POST', `/sources/${made.id}/rotate-key`)
    await expect.poll(() => b.track(made.writeKey, trackOf('with an old key')), within).toBe(401)
    expect(await b.track(rotated.writeKey, trackOf('with its successor'))).toBe(200)
  })

  it('delivers what either node takes, signed, and no event again that is posted to the other one later', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `m${String(index)}`)
    const send = (node: PostriderNode, messageId: string) =>
      node.track(source.writeKey, { ...trackOf('Order completed'), messageId })
    const arrived = (): ReceivedRequest[] => receiver.requests.filter(({ body }) => ids.includes(messageIdOf(body)))

    const sent = await Promise.all(ids.map((messageId, index) => send(index % 2 === 0 ? a : b, messageId)))
    expect(new Set(sent)).toEqual(new Set([200]))
    await expect.poll(() => arrived().length, { timeout: DELIVERY_LIMIT_MS }).toBeGreaterThanOrEqual(ids.length)

    // Nodes know of each other's deliveries what the list knows, which is a moment behind.
    for (const messageId of ids)
      await until(`${messageId} is listed`, async () => {
        const { items } = await b.manage<{ items: unknown[] }>(
          'GET',
          `/deliveries?messageId=${messageId}&status=delivered`,
        )
        return items.length === 1
      })
    const repeated = await Promise.all(ids.map((messageId, index) => send(index % 2 === 0 ? b : a, messageId)))
    expect(new Set(repeated)).toEqual(new Set([200]))
    // Whatever else was on its way arrives before an event that is sent later.
    await untilDeliveredBy(a)
    await untilDeliveredBy(b)
    expect(
      arrived()
        .map(({ body }) => messageIdOf(body))
        .sort(),
    ).toEqual([...ids].sort())
    for (const { body, headers, path } of arrived()) {
      expect(path).toBe('/events')
      expect(headers['x-signature']).toBe(createHmac('sha1', SECRET).update(body).digest('hex'))
    }
  })

  it('a corrected endpoint counts for the deliveries of the other node within 2 s', async () => {
    await using corrected = await startReceiver()
    const [webhook] = destination.settings.webhooks
    await a.manage('PATCH', `/destinations/${destination.id}`, {
      settings: { webhooks: [{ id: webhook?.id, url: `${corrected.url}/events` }] },
    })
    const before = Date.now()
    let sent = 0
    await expect
      .poll(
        async () => {
          await b.track(source.writeKey, { ...trackOf('Corrected'), messageId: `corrected-${String(sent++)}` })
          return corrected.requests.length
        },
        { timeout: DELIVERY_LIMIT_MS, interval: 100 },
      )
      .toBeGreaterThan(0)
    const late = receiver.requests.filter(
      ({ body, arrivedAt }) =>
        messageIdOf(body).startsWith('corrected-') && arrivedAt.getTime() > before + SETTINGS_LIMIT_MS,
    )
    expect(late).toEqual([])
    await a.manage('PATCH', `/destinations/${destination.id}`, {
      settings: { webhooks: [{ id: webhook?.id, url: `${receiver.url}/events` }] },
    })
    await untilDeliveredBy(b)
  })

  it('finishes on the other node what a node killed hard had begun', async () => {
    const ids = Array.from({ length: 5 }, (_, index) => `interrupted-${String(index)}`)
    const answered = (): string[] =>
      receiver.requests.filter(({ arrivedAt }) => arrivedAt > killedAt).map(({ body }) => messageIdOf(body))
    let killedAt = new Date(8.64e15)

    receiver.answer('hang')
    for (const messageId of ids) await a.track(source.writeKey, { ...trackOf('Interrupted'), messageId })
    await expect
      .poll(() => receiver.requests.filter(({ body }) => ids.includes(messageIdOf(body))).length)
      .toBeGreaterThanOrEqual(ids.length)
    process.kill(a.pid, 'SIGKILL')
    expect(await a.exited).toBe('SIGKILL')
    receiver.answer({})
    killedAt = new Date()

    await expect.poll(() => ids.filter((id) => answered().includes(id)), { timeout: DELIVERY_LIMIT_MS }).toEqual(ids)
    // It was in the killed node's hands, and the other one ended it.
    const workers = await Promise.all(
      ids.map(async (id) => workersOf(await workflowIdOf(eventWorkflowId(source.id, id)))),
    )
    expect(workers.map(({ first }) => first)).toContain(a.identity)
    expect(new Set(workers.map(({ last }) => last))).toEqual(new Set([b.identity]))
  })

  it('stops at once and cleanly when asked to', async () => {
    process.kill(b.pid, 'SIGTERM')
    expect(await b.exited).toBe(0)
  })

  /** Sends events through a node until one arrives: from then on the node knows the destination. */
  async function untilDeliveredBy(node: PostriderNode): Promise<void> {
    const event = `marker ${randomBytes(6).toString('hex')}`
    const attempt = async (): Promise<void> => {
      expect(await node.track(source.writeKey, trackOf(event))).toBe(200)
      expect(receiver.requests.some(({ body }) => body.includes(event))).toBe(true)
    }
    await vi.waitFor(attempt, { timeout: DELIVERY_LIMIT_MS, interval: 100 })
  }

  /** As the link into Temporal's UI has it. */
  async function workflowIdOf(deliveryId: string): Promise<string> {
    const { temporalUiUrl } = await b.manage<{ temporalUiUrl: string }>(
      'GET',
      `/deliveries/${encodeURIComponent(deliveryId)}`,
    )
    return decodeURIComponent(/\/workflows\/([^/]+)\//.exec(temporalUiUrl)?.[1] ?? '')
  }

  /** Who took the first and who ended the last workflow task of a delivery, once it has ended. */
  async function workersOf(workflowId: string): Promise<{ first: string | undefined; last: string | undefined }> {
    const connection = await Connection.connect({ address: cluster.address })
    try {
      const handle = new Client({
        connection,
        namespace: cluster.namespace,
        dataConverter: testConverter,
      }).workflow.getHandle(workflowId)
      await handle.result()
      const events = (await handle.fetchHistory()).events ?? []
      const started = events.map((event) => event.workflowTaskStartedEventAttributes?.identity ?? undefined)
      const completed = events.map((event) => event.workflowTaskCompletedEventAttributes?.identity ?? undefined)
      return {
        first: started.find((identity) => identity !== undefined),
        last: completed.findLast((identity) => identity !== undefined),
      }
    } finally {
      await connection.close()
    }
  }
})

const trackOf = (event: string): Record<string, unknown> => ({ userId: 'u1', event, properties: { total: 12.5 } })

const messageIdOf = (body: Buffer): string => (JSON.parse(body.toString()) as { messageId: string }).messageId
