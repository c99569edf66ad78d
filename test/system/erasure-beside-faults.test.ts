/** An erasure is complete whatever happens beside it: other nodes have keys in memory, the database is away, a node is killed, the key ring
 *  is changed. */

import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EncryptionKeysSchema } from '../../src/config.ts'
import { deletionFailures, deletionRequestWorkflowId } from '../../src/contracts/deletions.ts'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { Database } from '../../src/db/database.ts'
import type { Page } from '../../src/db/page.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { resealAll } from '../../src/db/sealed-columns.ts'
import type { DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { describeExecution } from '../../src/temporal/describe-execution.ts'
import { isUnderWaySince } from '../../src/temporal/under-way-since.ts'
import { createAudience, upload } from '../audiences/setup.ts'
import type { TestApp } from '../support/app.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { encryptionKeys } from '../support/sealed-payloads.ts'
import { startSharedParts, type SharedParts } from '../support/shared-parts.ts'
import { until } from '../support/wait.ts'
import { inDatabase, inTemporal } from '../support/what-can-be-read.ts'

const limitMs = 150_000

type Node = Pick<TestApp, 'api' | 'post' | 'createSource' | 'connect'>

const isNotice = ({ body }: ReceivedRequest): boolean => body.includes('"delete"')

const bodyOf = (user: string, messageId: string) => ({
  ...{ type: 'track', messageId, userId: `${user}-user`, event: `${user}-opened` },
  properties: { total: `${user}-total-${messageId}` },
})

async function track(node: Node, { id, writeKey }: Source, user: string, messageId: string): Promise<string> {
  expect((await node.post('/track', writeKey, bodyOf(user, messageId))).status).toBe(200)
  return eventWorkflowId(id, messageId)
}

const detailOf = async (node: Node, id: string): Promise<DeliveryDetail> =>
  (await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)).body

const untilStatus = (node: Node, id: string, status: string): Promise<DeliveryDetail> =>
  until(
    `${id} is ${status}`,
    async () => {
      const detail = await detailOf(node, id)
      return detail.status === status && detail
    },
    limitMs,
  )

const requestDeletion = async (node: Node, userIds: string[], sources?: Source[]): Promise<string> =>
  (
    await node.api<DeletionRequestDetail>('POST', '/deletion-requests', {
      userIds,
      ...(sources && { sourceIds: sources.map(({ id }) => id) }),
    })
  ).body.id

const untilErased = (node: Node, id: string): Promise<DeletionRequestDetail> =>
  until(
    `the users of ${id} are erased`,
    async () => {
      const { body } = await node.api<DeletionRequestDetail>('GET', `/deletion-requests/${id}`)
      return body.erasedAt !== null && body
    },
    limitMs,
  )

describe.skipIf(findPostgres() === undefined)('an erasure', { timeout: 4 * limitMs }, () => {
  let parts: SharedParts
  let database: Database
  beforeAll(async () => {
    parts = await startSharedParts()
    database = openPostgres(parts.databaseUrl, pino({ level: 'silent' }))
  })
  afterAll(async () => {
    await database.close()
    await parts[Symbol.asyncDispose]()
  })
  const environment = { POSTRIDER_RETRY_WINDOW: '1h' }

  it('reaches what other nodes have in memory', async () => {
    await using node = await parts.start({ environment })
    await using other = await parts.start({ environment })
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const anonymous = { type: 'track', anonymousId: 'nobody', event: 'Probe' }
    const isConnected = async () => {
      await other.post('/track', source.writeKey, anonymous)
      return receiver.requests.length > 0
    }
    await until('the other node knows the source and where its events go', isConnected, limitMs)
    const id = await track(other, source, 'sansibar', 'before')
    await untilStatus(other, id, 'delivered')
    // The other node opens with the key, and seals with it.
    expect(await detailOf(other, id)).toMatchObject({ erased: false, userId: 'sansibar-user' })

    await untilErased(node, await requestDeletion(node, ['sansibar-user'], [source]))
    expect(await detailOf(other, id)).toMatchObject({ erased: true, userId: null, message: null })
    const again = await track(other, source, 'sansibar', 'after')
    await untilStatus(other, again, 'delivered')
    expect(await detailOf(node, again)).toMatchObject({ erased: false, userId: 'sansibar-user' })
    const temporal = await inTemporal(database, parts.namespace)
    expect(temporal).not.toContain('sansibar-total-before')
    expect(temporal).toContain('sansibar-total-after')
  })

  it('covers what syncs of audiences have sent, and where they stood', async () => {
    await using node = await parts.start({ environment })
    await using receiver = await startReceiver()
    // The changes get deliveries of their own.
    receiver.answer((request) => ({ status: isNotice(request) ? 200 : 503 }))
    const source = await node.createSource()
    const { id: destinationId } = await node.connect([source], [receiver.url])
    const audience = await createAudience(node, [destinationId])
    // The last one in their order: where the sync stands in the end.
    const [kept, gone] = ['timbuktu', 'zanzibar']
    const members = [kept, gone].map((user) => ({ userId: `${user}-user`, traits: { plan: `${user}-plan` } }))
    await upload(node, audience, members)
    const deliveries = await until(
      'both changes have deliveries',
      async () => {
        const { body } = await node.api<Page<Delivery>>('GET', `/deliveries?sourceId=${audience.id}`)
        return body.items.length === members.length && body.items
      },
      limitMs,
    )
    const idOf = (user: string): string => deliveries.find(({ userId }) => userId === `${user}-user`)?.id ?? ''
    await until('both were tried', async () => {
      const details = await Promise.all([kept, gone].map((user) => detailOf(node, idOf(user))))
      return details.every(({ timeline }) => timeline.length > 0)
    })
    const before = await inTemporal(database, parts.namespace)
    for (const user of [kept, gone]) expect(before).toContain(`${user}-plan`)

    const { keys } = await untilErased(node, await requestDeletion(node, [`${gone}-user`], [source]))
    // That of the audience, and that of the notification.
    expect(keys).toBe(2)
    const temporal = await inTemporal(database, parts.namespace)
    expect(temporal).not.toContain(gone)
    expect(await inDatabase(database)).not.toContain(gone)
    expect(temporal).toContain(`${kept}-plan`)
    expect(await detailOf(node, idOf(gone))).toMatchObject({ erased: true, userId: null, message: null })
    expect(await detailOf(node, idOf(kept))).toMatchObject({ erased: false, userId: `${kept}-user` })
  })

  it('is complete once the database is back that went away in the middle', async () => {
    await using node = await parts.start({ environment })
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const id = await track(node, source, 'malakka', 'm-1')
    await untilStatus(node, id, 'delivered')
    receiver.answer({ status: 503 })
    const request = await requestDeletion(node, ['malakka-user'], [source])
    await until('the notification is tried', () => receiver.requests.some(isNotice), limitMs)
    const { temporal } = node.app
    const inAMinute = new Date(Date.now() + 60_000)
    await until('the notification is listed', () => isUnderWaySince(temporal, inAMinute), limitMs)
    expect(await isUnderWaySince(temporal, new Date(Date.now() - 3_600_000))).toBe(false)

    await parts.postgres.halt()
    try {
      receiver.answer({})
      const failsAtTheDatabase = async (): Promise<boolean> => {
        const { pendingActivities } = await describeExecution(temporal, {
          workflowId: deletionRequestWorkflowId(request),
        })
        return pendingActivities.some(
          ({ lastFailure }) => lastFailure && lastFailure.applicationFailureInfo?.type !== deletionFailures.underWay,
        )
      }
      await until('the keys cannot be destroyed', failsAtTheDatabase, limitMs)
    } finally {
      await parts.postgres.resume()
    }
    expect(await untilErased(node, request)).toMatchObject({ keys: 2, deliveries: 1 })
    expect(await detailOf(node, id)).toMatchObject({ erased: true, message: null })
    expect(await inTemporal(database, parts.namespace)).not.toContain('malakka')
    expect(await inDatabase(database)).not.toContain('malakka')
  })

  it('covers keys that were sealed anew as the key ring was changed', async () => {
    const ring = `k2:${Buffer.alloc(32, 9).toString('base64')},${encryptionKeys}`
    await using receiver = await startReceiver()
    const ids: Record<string, string> = {}
    let source: Source
    {
      await using node = await parts.start({ environment })
      source = await node.createSource()
      await node.connect([source], [receiver.url])
      for (const user of ['lamu', 'kilwa']) {
        const id = await track(node, source, user, `${user[0]}-1`)
        await untilStatus(node, id, 'delivered')
        ids[user] = id
      }
    }
    const keys = EncryptionKeysSchema.parse(ring)
    const unreadable: unknown[] = []
    const report = { onProgress: () => {}, onUnreadable: (value: unknown) => void unreadable.push(value) }
    expect(await resealAll(database, createSecretBox(keys), 'k2', report)).toBeGreaterThanOrEqual(2)
    expect(unreadable).toEqual([])
    await using node = await parts.start({ environment: { ...environment, POSTRIDER_ENCRYPTION_KEYS: ring } })
    for (const user of ['lamu', 'kilwa'])
      expect(await detailOf(node, ids[user] ?? '')).toMatchObject({ erased: false, userId: `${user}-user` })

    await untilErased(node, await requestDeletion(node, ['lamu-user'], [source]))
    expect(await detailOf(node, ids['lamu'] ?? '')).toMatchObject({ erased: true, message: null })
    expect(await detailOf(node, ids['kilwa'] ?? '')).toMatchObject({ erased: false, userId: 'kilwa-user' })
    const temporal = await inTemporal(database, parts.namespace, ring)
    expect(temporal).not.toContain('lamu')
    expect(temporal).toContain('kilwa-total')
    expect(await inDatabase(database, ring)).not.toContain('lamu')
  })
})

/** More than are done at a time. */
const manyUsers = 45

describe.skipIf(findPostgres() === undefined)('an erasure whose node is killed', { timeout: 4 * limitMs }, () => {
  it('is carried on by the next one, and leaves nobody out', async () => {
    await using parts = await startSharedParts()
    await using receiver = await startReceiver()
    const database = openPostgres(parts.databaseUrl, pino({ level: 'silent' }))
    try {
      const node = await parts.startProcess()
      const source = await node.createSource()
      await node.connect([source], [receiver.url])
      const names = Array.from({ length: manyUsers }, (_, n) => `pemba-${n}`)
      const batch = names.map((name) => bodyOf(name, `message-of-${name}`))
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
      await receiver.received(manyUsers, limitMs)

      const request = await requestDeletion(
        node,
        names.map((name) => `${name}-user`),
      )
      const left = async (): Promise<number> => {
        const [row] = await database.query<{ count: number }>(
          'select count(*)::int as count from deletion_request_users where request_id = $1',
          [request],
        )
        return row?.count ?? 0
      }
      await until('some are done', async () => (await left()) < manyUsers, limitMs)
      await node.kill()
      const next = await parts.startProcess()
      const told = await untilErased(next, request)
      expect(told).toMatchObject({ status: 'completed', users: manyUsers, started: manyUsers, keys: manyUsers + 1 })
      const noticed = new Set(
        receiver.requests.filter(isNotice).map(({ body }) => String(body).match(/pemba-\d+/)?.[0]),
      )
      expect(noticed.size).toBe(manyUsers)
      expect((await inTemporal(database, parts.namespace)).match(/pemba-\d+/g)).toBeNull()
      expect((await inDatabase(database)).match(/pemba-\d+-user/g)).toBeNull()
    } finally {
      await database.close()
    }
  })
})
