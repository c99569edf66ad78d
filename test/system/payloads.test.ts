/** What Temporal holds of events is sealed: a reader of its database learns nothing of them, and nodes read all of it. */

import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Audience } from '../../src/schemas/audience.ts'
import type { DeletionRequestDetail } from '../../src/schemas/deletion-request.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import type { Source } from '../../src/schemas/source.ts'
import { opened } from '../../src/temporal/opened.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { testPayloads } from '../support/sealed-payloads.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { textsIn, whatTemporalHolds } from '../support/what-temporal-holds.ts'

const limitMs = 90_000

/** Stands in every user id, message id, property, answer and reason of this file. */
const secret = 'zanzibar'

/** Neighbouring events that have to wait share a workflow. */
const flooded = 240

const detailOf = async (node: TestApp, id: string): Promise<DeliveryDetail> =>
  (await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)).body

const untilStatus = (node: TestApp, id: string, ...statuses: string[]): Promise<DeliveryDetail> =>
  until(
    `${id} is ${statuses.join(' or ')}`,
    async () => {
      const detail = await detailOf(node, id)
      return statuses.includes(detail.status) && detail
    },
    limitMs,
  )

const track = async (node: TestApp, { id, writeKey }: Source, what: string): Promise<string> => {
  const messageId = `${secret}-${what}`
  const event = { messageId, userId: `${secret}-user`, event: `${secret}ed`, properties: { total: `${secret}-total` } }
  expect((await node.post('/track', writeKey, event)).status).toBe(200)
  return eventWorkflowId(id, messageId)
}

describe('what Temporal holds', { timeout: 4 * limitMs }, () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp({ environment: { POSTRIDER_RETRY_MAX: '10s' } })
  })
  afterAll(() => node[Symbol.asyncDispose]())

  const connected = async (url: string): Promise<Source> => {
    const source = await node.createSource()
    await node.connect([source], [url])
    return source
  }
  const steer = async (id: string, action: string) => {
    const answer = await node.api<{ id?: string }>('POST', `/deliveries/${encodeURIComponent(id)}/${action}`, {
      why: `${secret} asked for it`,
    })
    expect(answer.status).toBeLessThan(300)
    return answer.body
  }

  it('shows nothing of events, whatever became of them, and nodes read all of it', async () => {
    await using taking = await startReceiver()
    await using failing = await startReceiver()
    await using refusing = await startReceiver()
    failing.answer({ status: 503, body: `${secret} is not served` })
    refusing.answer({ status: 404, body: `no ${secret} here` })
    const [taken, failed, refused] = await Promise.all([taking, failing, refusing].map(({ url }) => connected(url)))
    if (!taken || !failed || !refused) throw new Error('no sources')

    const delivered = await track(node, taken, 'delivered')
    const retried = await track(node, failed, 'retried')
    const cancelled = await track(node, failed, 'cancelled')
    const given = await track(node, refused, 'refused')
    await untilStatus(node, delivered, 'delivered')
    await until('attempts that failed are told', async () => (await detailOf(node, retried)).timeline.length > 2)
    await steer(retried, 'retry')
    await untilStatus(node, cancelled, 'retrying')
    await steer(cancelled, 'cancel')
    const ended = await untilStatus(node, cancelled, 'cancelled')
    expect(ended.steering).toMatchObject([{ action: 'cancel', by: 'admin', why: `${secret} asked for it` }])
    const { reason, timeline } = await untilStatus(node, given, 'failed')
    expect(reason).toContain('404')
    expect(timeline).toMatchObject([{ excerpt: `no ${secret} here` }])
    const { id: again = '' } = await steer(delivered, 'redeliver')
    expect((await untilStatus(node, again, 'delivered')).steering).toMatchObject([{ why: `${secret} asked for it` }])

    // An endpoint that is down gets attempts of a few events alone: what is to be tried again comes before many others.
    const batch = Array.from({ length: flooded }, (_, n) => ({
      type: 'track',
      event: `${secret}ed`,
      userId: `${secret}-${n}`,
      messageId: `${secret}-${n}`,
    }))
    for (const source of [taken, failed])
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)

    const destination = await node.connect([], [failing.url])
    const audience = await node.api<Audience>('POST', '/audiences', {
      name: 'Players',
      destinationIds: [destination.id],
      membership: { kind: 'push' },
    })
    await node.api('POST', `/audiences/${audience.body.id}/members`, { add: [`${secret}-member`] })
    await until('the member is tried', () => failing.requests.some(({ body }) => body.includes(`${secret}-member`)))
    const { body: request } = await node.api<DeletionRequestDetail>('POST', '/deletion-requests', {
      userIds: [`${secret}-gone`],
      sourceIds: [taken.id],
    })
    await until('the deletion is told', async () => {
      const { body } = await node.api<DeletionRequestDetail>('GET', `/deletion-requests/${request.id}`)
      return body.status === 'completed'
    })

    const wanted = ['deletionRequest', 'deliverEvent', 'deliverParcel', 'syncAudience']
    const held = await until('all of them are listed', async () => {
      const workflows = await whatTemporalHolds(node.namespace)
      return wanted.every((type) => workflows.some((one) => one.type === type)) && workflows
    })
    for (const { type, answers } of held)
      for (const answer of answers) expect(textsIn(answer), type).not.toContain(secret)
    // The events of a parcel are sealed with the keys of their users as well: of its payloads the ring opens what is around them.
    for (const [type, known] of [
      ['deliverEvent', secret],
      ['deliverParcel', 'receivedAt'],
    ] as const) {
      const ofType = held.filter((one) => one.type === type)
      for (const { answers } of ofType) expect(textsIn(answers), type).not.toContain(known)
      const read = ofType.flatMap(({ answers }) => opened(testPayloads, answers))
      expect(textsIn(read), type).toContain(known)
    }
  })
})

describe('a changed key ring', { timeout: 4 * limitMs }, () => {
  const ring = (...ids: number[]): Record<string, string> => ({
    POSTRIDER_ENCRYPTION_KEYS: ids.map((id) => `k${id}:${Buffer.alloc(32, id).toString('base64')}`).join(','),
  })

  it('goes on with deliveries that were sealed by an older key, and waits for the key of those that it cannot read', async () => {
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    const namespace = await createNamespace()
    const dataDir = await makeDataFolder()
    const logger = pino({ level: 'silent' })
    const start = (...ids: number[]): Promise<TestApp> =>
      startTestApp({ namespace, dataDir, environment: { ...ring(...ids), POSTRIDER_RETRY_WINDOW: '1h' }, logger })
    let node = await start(1)
    try {
      const source = await node.createSource()
      await node.connect([source], [receiver.url])
      const before = await track(node, source, 'before')
      await until('it is tried again', () => receiver.requests.length > 2)
      await node[Symbol.asyncDispose]()

      node = await start(2, 1)
      const tried = receiver.requests.length
      await until('the same is tried on', () => receiver.requests.length > tried)
      const after = await track(node, source, 'after')
      await untilStatus(node, after, 'retrying')
      await node[Symbol.asyncDispose]()

      node = await start(1)
      const { status, body } = await node.api('GET', `/deliveries/${encodeURIComponent(after)}`)
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { code: 'unavailable', message: 'The encryption key "k2" is not in POSTRIDER_ENCRYPTION_KEYS.' },
      })
      const { body: list } = await node.api<{ items: { id: string }[] }>('GET', '/deliveries')
      expect(list.items).toHaveLength(2)
      expect(list.items.map(({ id }) => id)).toContain(before)
      await node[Symbol.asyncDispose]()

      receiver.answer({})
      node = await start(2, 1)
      await untilStatus(node, before, 'delivered')
      await untilStatus(node, after, 'delivered')
    } finally {
      await node[Symbol.asyncDispose]()
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})
