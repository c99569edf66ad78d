/** Users whose events a deletion request had dropped are heard again, on every node, and what was erased stays so. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { AuditEntry } from '../../src/schemas/audit.ts'
import type { DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { createAudience, ended, upload } from '../audiences/setup.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'
import { until } from '../support/wait.ts'

const limitMs = 90_000

interface Arrived {
  type: string
  userId: string
  messageId?: string
}

const arrived = ({ requests }: Receiver): Arrived[] =>
  requests.map(({ body }) => JSON.parse(body.toString()) as Arrived)

const messagesOf = (receiver: Receiver, userId: string): (string | undefined)[] =>
  arrived(receiver).flatMap((one) => (one.userId === userId && one.type !== 'delete' ? [one.messageId] : []))

/** Deletes users, suppresses them, and waits until the request is so far. */
async function suppress(
  node: TestApp,
  body: { userIds: string[]; sourceIds?: string[] },
  isSo: (request: DeletionRequestDetail) => boolean = ({ status }) => status === 'completed',
): Promise<DeletionRequestDetail> {
  const { status, body: made } = await node.api<DeletionRequestDetail>('POST', '/deletion-requests', {
    ...body,
    suppress: true,
  })
  expect(status).toBe(202)
  return until(
    'the deletion request is so far',
    async () => {
      const { body: request } = await node.api<DeletionRequestDetail>('GET', `/deletion-requests/${made.id}`)
      return isSo(request) && request
    },
    limitMs,
  )
}

const erase = (node: TestApp, body: { userIds: string[]; sourceIds?: string[] }): Promise<DeletionRequestDetail> =>
  suppress(node, body, ({ erasedAt }) => erasedAt !== null)

const lift = (node: TestApp, body: object) => node.api('POST', '/suppressions/lift', body)

const detail = (node: TestApp, sourceId: string, messageId: string) =>
  node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(`event/${sourceId}/${messageId}`)}`)

describe('a suppression that is lifted', { timeout: 120_000 }, () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  it('lets later events through, sealed with a new key, and leaves the old ones erased', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const track = (messageId: string) => node.post('/track', source.writeKey, { userId: 'back', event: 'E', messageId })
    await track('before')
    await receiver.received(1)
    await erase(node, { userIds: ['back'] })
    await track('dropped')

    expect(await lift(node, { userIds: ['back'], sourceIds: [source.id] })).toMatchObject({
      status: 200,
      body: { lifted: 0, remaining: 1 },
    })
    await track('dropped-too')
    expect(await lift(node, { userIds: ['back', 'stranger', 'back'] })).toMatchObject({
      status: 200,
      body: { lifted: 1, remaining: 0 },
    })
    await track('after')
    await until('the new event arrives', () => messagesOf(receiver, 'back').includes('after'), limitMs)
    expect(messagesOf(receiver, 'back')).toEqual(['before', 'after'])

    const old = await detail(node, source.id, 'before')
    expect(old.body).toMatchObject({ erased: true, message: null })
    const again = await until('the new delivery is over', async () => {
      const { body } = await detail(node, source.id, 'after')
      return body.status === 'delivered' && body
    })
    expect(again.message).toMatchObject({ userId: 'back', event: 'E' })
    // The new event has a key of its own again, beside that of the notification.
    expect(await erase(node, { userIds: ['back'], sourceIds: [source.id] })).toMatchObject({ keys: 2 })
  })

  it('lets audiences tell of the user again', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const destination = await node.connect([source], [receiver.url])
    const audience = await createAudience(node, [destination.id], { maxRemovalShare: 1 })
    const told = (): number =>
      arrived(receiver).filter(({ type, userId }) => type === 'identify' && userId === 'member').length
    await suppress(node, { userIds: ['member'] })
    const members = ['member', 'other']
    expect(await ended(node, audience, await upload(node, audience, members))).toMatchObject({ sent: 1 })
    expect(told()).toBe(0)
    await lift(node, { userIds: ['member'] })
    expect(await ended(node, audience, await upload(node, audience, members))).toMatchObject({ sent: 1 })
    expect(told()).toBe(1)
  })

  it('stands in the audit log, without whom it was about', async () => {
    await lift(node, { userIds: ['nobody-in-particular'] })
    const { body } = await node.api<Page<AuditEntry>>('GET', '/audit-log?subject=suppressions')
    expect(body.items[0]).toMatchObject({
      action: 'suppressions.lift',
      outcome: 'done',
      after: { lifted: 0, remaining: 0 },
    })
    expect(JSON.stringify(body)).not.toContain('nobody-in-particular')
  })

  it.each([
    ['no users', { userIds: [] }, 'userIds'],
    ['too many users', { userIds: Array.from({ length: 1_001 }, (_, n) => `u${n}`) }, 'userIds'],
    ['an unknown source', { userIds: ['u1'], sourceIds: ['src_unknown'] }, 'sourceIds[0]'],
    ['an unknown member', { userIds: ['u1'], all: true }, undefined],
  ])('is refused with %s', async (_what, body, path) => {
    expect(await lift(node, body)).toMatchObject({
      status: 400,
      body: { code: 'bad_request', ...(path !== undefined && { path }) },
    })
  })
})

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: lifting a suppression on two nodes is not tested.')

describe.skipIf(missing)('two nodes on one PostgreSQL', { timeout: 180_000 }, () => {
  it('both deliver the events of a user whose suppression one of them lifted, and both drop them when it comes again', async () => {
    await using parts = await startSharedParts()
    await using asked = await parts.start()
    await using other = await parts.start()
    await using receiver = await startReceiver()
    const source = await asked.createSource()
    await asked.connect([source], [receiver.url])
    const track = async (node: TestApp, userId: string, messageId: string): Promise<void> => {
      expect((await node.post('/track', source.writeKey, { userId, event: 'E', messageId })).status).toBe(200)
    }
    // The other node learns of the source in its own time.
    await until('both nodes know the source', async () => {
      const answer = await other.post('/track', source.writeKey, { userId: 'first', event: 'E' })
      return answer.status === 200
    })
    await suppress(asked, { userIds: ['back'] })
    await track(asked, 'back', 'dropped-here')
    await track(other, 'back', 'dropped-there')
    expect(await lift(asked, { userIds: ['back'] })).toMatchObject({ body: { lifted: 1 } })

    await track(asked, 'back', 'here')
    await until('an event through the node that was asked arrives', () => messagesOf(receiver, 'back').includes('here'))
    let count = 0
    const fromOther = (): boolean => messagesOf(receiver, 'back').some((id) => id?.startsWith('there-'))
    await until('an event through the other node arrives', async () => {
      await track(other, 'back', `there-${count++}`)
      return fromOther()
    })
    expect(messagesOf(receiver, 'back').filter((id) => id?.startsWith('dropped'))).toEqual([])

    await suppress(other, { userIds: ['back'] })
    const before = messagesOf(receiver, 'back').length
    for (const node of [asked, other]) {
      await track(node, 'back', `late-${node === other}`)
      await track(node, 'proof', `proof-${node === other}`)
    }
    await until('the events of another user arrive', () => messagesOf(receiver, 'proof').length === 2)
    expect(messagesOf(receiver, 'back')).toHaveLength(before)
  })
})
