/** Temporal has hashes in place of the names that callers give; whoever asks a node finds everything by these names. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openPglite } from '../../src/db/pglite.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { DeletionRequest } from '../../src/schemas/deletion-request.ts'
import { countPlain } from '../../src/temporal/count-plain.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { deliveryPath, list, listed, track, untilStatus } from '../support/deliveries.ts'
import { startReceiver } from '../support/receiver.ts'
import { testConverter } from '../support/sealed-payloads.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 300_000

describe('a delivery', { timeout }, () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  it('has hashes in place of names in Temporal, and is found by either', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const id = await track(node, source, { messageId: 'm/1', userId: `o'neill`, event: 'Ordered' })
    const detail = await untilStatus(node, id, 'delivered')
    expect(detail).toMatchObject({ id, messageId: 'm/1', userId: `o'neill`, event: 'Ordered' })
    const row = { id, messageId: 'm/1', userId: `o'neill`, event: 'Ordered', sourceId: source.id, type: 'track' }
    for (const filter of [{ messageId: 'm/1' }, { userId: `o'neill` }, { event: 'Ordered' }])
      expect(await listed(node, { ...filter, sourceId: source.id })).toMatchObject([row])

    const { names, client } = node.app.temporal
    const workflowId = names.workflowId(id)
    expect(workflowId).toMatch(new RegExp(`^event/${source.id}/~[\\w-]{24}$`))
    const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe()
    const attributes = new Map(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]))
    for (const name of ['PostriderMessageId', 'PostriderUserId', 'PostriderEvent'])
      expect(attributes.get(name), name).toMatch(/^~[\w-]{24}$/)
    expect((await node.api<DeliveryDetail>('GET', deliveryPath(workflowId))).body).toMatchObject({
      id,
      messageId: 'm/1',
    })
    expect(await list(node, { messageId: workflowId })).toMatchObject([row])

    const { body } = await node.api<{ id: string }>('POST', deliveryPath(workflowId, '/redeliver'))
    expect(body.id).toBe(`${id}/redelivery/1`)
    expect(await untilStatus(node, body.id, 'delivered')).toMatchObject({ id: body.id, messageId: 'm/1' })
    expect((await listed(node, { messageId: 'm/1' }, 2)).map((one) => one.id).sort()).toEqual([id, body.id])
  })

  it('with a message id that looks like a hash is another one than that which the hash stands for', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const first = await track(node, source, { messageId: 'm1', userId: 'u1', event: 'First' })
    await untilStatus(node, first, 'delivered')
    const messageId = node.app.temporal.names.value('message', 'm1')
    expect((await node.post('/track', source.writeKey, { messageId, userId: 'u1', event: 'Second' })).status).toBe(200)
    await receiver.received(2)
    const rows = await listed(node, { userId: 'u1', sourceId: source.id }, 2)
    expect(rows.map((row) => [row.messageId, row.event])).toEqual(
      expect.arrayContaining([
        ['m1', 'First'],
        [messageId, 'Second'],
      ]),
    )
    for (const row of rows) expect(await untilStatus(node, row.id, 'delivered')).toMatchObject({ event: row.event })
  })
})

describe('an installation of the version before', { timeout }, () => {
  it('goes on: what it had is found, steered and not delivered again, and what comes is hashed', async () => {
    const dataDir = await makeDataFolder()
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
    const namespace = await createNamespace()
    const inDatabase = async (statement: string): Promise<void> => {
      const database = await openPglite(join(dataDir, 'pglite'), pino({ level: 'silent' }))
      await database.query(statement)
      await database.close()
    }
    await using receiver = await startReceiver()
    receiver.answer(({ body }) => ({ status: body.includes('waiting') ? 503 : 200 }))
    const start = (): Promise<TestApp> => startTestApp({ dataDir, namespace })

    // An upgraded node starts deliveries as the version before it did, for an hour.
    await inDatabase(`insert into id_hashing (begins_at, has_plain) values (now() + interval '1 hour', true)`)
    let node = await start()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const sent = (messageId: string) => ({ messageId, userId: `user-${messageId}`, event: 'Sent' })
    const done = await track(node, source, sent('done'))
    await untilStatus(node, done, 'delivered')
    const waiting = await track(node, source, sent('waiting'))
    await untilStatus(node, waiting, 'retrying')
    const connection = await Connection.connect({ address: temporalAddress() })
    onTestFinished(() => connection.close())
    const temporal = new Client({ connection, namespace, dataConverter: testConverter })
    expect((await temporal.workflow.getHandle(done).describe()).status.name).toBe('COMPLETED')
    await track(node, source, sent('done'))
    await node[Symbol.asyncDispose]()

    await inDatabase(`update id_hashing set begins_at = now() - interval '2 minutes'`)
    node = await start()
    try {
      const before = receiver.requests.filter(({ body }) => body.includes('"done"')).length
      expect(before).toBe(1)
      await track(node, source, sent('done'))
      const batch = [{ type: 'track', ...sent('done') }]
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
      const fresh = await track(node, source, sent('fresh'))
      await untilStatus(node, fresh, 'delivered')
      expect(receiver.requests.filter(({ body }) => body.includes('"done"'))).toHaveLength(before)

      for (const messageId of ['done', 'waiting', 'fresh'])
        for (const filter of [{ messageId }, { userId: `user-${messageId}` }])
          expect(await listed(node, filter)).toMatchObject([{ id: `event/${source.id}/${messageId}`, messageId }])
      await listed(node, { event: 'Sent' }, 3)
      expect(await countPlain(node.app.temporal)).toBe(2)
      await expect(temporal.workflow.getHandle(fresh).describe()).rejects.toThrow('not found')

      const { body } = await node.api<{ id: string }>('POST', deliveryPath(done, '/redeliver'))
      expect(body.id).toBe(`${done}/redelivery/1`)
      expect((await untilStatus(node, body.id, 'delivered')).id).toBe(body.id)
      const { body: request } = await node.api<DeletionRequest>('POST', '/deletion-requests', {
        userIds: ['user-waiting'],
      })
      await untilStatus(node, waiting, 'cancelled')
      const counted = await until('the deletion is done', async () => {
        const answer = await node.api<DeletionRequest>('GET', `/deletion-requests/${request.id}`)
        return answer.body.status === 'completed' && answer.body
      })
      expect(counted.cancelled).toBe(1)
    } finally {
      await node[Symbol.asyncDispose]()
    }
  })
})
