/** A retry window of a destination's own, and a suppression that is lifted, beside frozen and killed parts: what is shown is compared with
 *  what receivers got. */

import { describe, expect, it, onTestFinished } from 'vitest'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import { deliveryPath, list } from '../support/deliveries.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { nodesOnOneFolder } from '../support/nodes-on-one-folder.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 300_000
const limitMs = 180_000

const idOf = ({ body }: ReceivedRequest): string => (JSON.parse(body.toString()) as { messageId: string }).messageId

describe.skipIf(findPostgres() === undefined)('beside frozen and killed parts', () => {
  /** A database of its own, and nodes that run one after the other on it. */
  async function setScene(environment: Record<string, string>) {
    const postgres: PostgresServer = await startPostgres()
    onTestFinished(() => postgres.stop())
    const start = await nodesOnOneFolder({ DATABASE_URL: await postgres.createDatabase(), ...environment })
    return { postgres, start }
  }

  it('a window of its own goes on, and no attempt is missing or told twice', { timeout }, async () => {
    await using relay = await startTcpRelay(Number(temporalAddress().split(':')[1]))
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    // The window of the node is over long before the end.
    const { postgres, start } = await setScene({
      TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}`,
      POSTRIDER_RETRY_WINDOW: '2s',
      POSTRIDER_RETRY_INITIAL: '100ms',
    })
    const before = await start()
    const source = await before.createSource()
    const { id } = await before.connect([source], [receiver.url])
    const patience = { retryWindowHours: 1, retryPauses: { firstSeconds: 1, maxSeconds: 10 } }
    expect((await before.api('PATCH', `/destinations/${id}`, patience)).status).toBe(200)
    const ids = Array.from({ length: 11 }, (_, n) => `patient-${n}`)
    const [alone = '', ...together] = ids
    await before.post('/track', source.writeKey, { userId: 'u1', event: 'E', messageId: alone })
    await receiver.received(1)
    const batch = together.map((messageId) => ({ type: 'track', userId: 'u1', event: 'E', messageId }))
    expect((await before.post('/batch', source.writeKey, { batch })).status).toBe(200)
    const requestsOf = (messageId: string): number =>
      receiver.requests.filter((request) => idOf(request) === messageId).length
    const furtherRequests = (count: number): Promise<unknown> =>
      receiver.received(receiver.requests.length + count, limitMs)
    await until('each was tried', () => ids.every((messageId) => requestsOf(messageId) > 0), limitMs)

    postgres.freeze()
    await furtherRequests(1)
    postgres.thaw()
    await furtherRequests(1)
    relay.shut()
    await until('the node notices', async () => (await before.output()).includes('part.away'), limitMs)
    relay.open()
    await furtherRequests(1)
    await before.kill()
    const node = await start()
    receiver.answer({})
    const all = (): Promise<Delivery[]> => list(node, { sourceId: source.id, limit: '200' })
    await until(
      'all are delivered',
      async () => {
        const items = await all()
        return items.length === ids.length && items.every(({ status }) => status === 'delivered')
      },
      limitMs,
    )

    for (const messageId of ids) {
      const path = deliveryPath(`event/${source.id}/${messageId}`)
      const { body } = await node.api<DeliveryDetail>('GET', path)
      const statuses = body.timeline.map(({ status }) => status)
      expect([messageId, statuses.filter((status) => status === 200)]).toEqual([messageId, [200]])
      expect(statuses.at(-1)).toBe(200)
      expect(new Set(body.timeline.map(({ at, endpointId }) => `${at} ${endpointId}`)).size).toBe(statuses.length)
      // One may have been under way when Temporal went, and one when the node was killed.
      expect(requestsOf(messageId) - statuses.length).toBeOneOf([0, 1, 2])
      expect(body.attempts).toBe(statuses.length)
      expect(body.destinations[0]?.retryWindowMs).toBe(3_600_000)
    }
  })

  it('a suppression is lifted as was answered, or not at all', { timeout }, async () => {
    await using receiver = await startReceiver()
    const { postgres, start } = await setScene({})
    const before = await start()
    const source = await before.createSource()
    await before.connect([source], [receiver.url])
    const send = async (node: NodeProcess, messageId: string): Promise<void> => {
      expect((await node.post('/track', source.writeKey, { userId: 'back', event: 'E', messageId })).status).toBe(200)
    }
    const arrived = (): string[] => receiver.requests.map(idOf)
    const order = { userIds: ['back'], suppress: true }
    const { body: made } = await before.api<DeletionRequestDetail>('POST', '/deletion-requests', order)
    await until(
      'the user is suppressed, and all was done',
      async () =>
        (await before.api<DeletionRequestDetail>('GET', `/deletion-requests/${made.id}`)).body.status === 'completed',
      limitMs,
    )
    const lift = (node: NodeProcess) =>
      node.api<{ lifted?: number }>('POST', '/suppressions/lift', { userIds: ['back'] })

    postgres.freeze()
    const asked = lift(before).catch(() => undefined)
    await before.kill()
    expect((await asked)?.status).not.toBe(200)
    postgres.thaw()
    const between = await start()
    await send(between, 'still-suppressed')
    const answer = await lift(between)
    expect(answer).toMatchObject({ status: 200, body: { lifted: 1, remaining: 0 } })
    await between.kill()
    const after = await start()
    await send(after, 'heard-again')
    await until('it arrives', () => arrived().includes('heard-again'), limitMs)
    expect(arrived()).not.toContain('still-suppressed')
    expect(await lift(after)).toMatchObject({ status: 200, body: { lifted: 0, remaining: 0 } })
  })
})
