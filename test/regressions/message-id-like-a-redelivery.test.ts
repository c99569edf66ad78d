/** Symptom: an event with the message id `redelivery/2` was taken for a duplicate and never sent, and `m%2Fredelivery/1` for
 *  `m/redelivery/1`.
 *  Cause: only a slash before `redelivery/<n>` in a message id was encoded in the workflow's id, and an encoded one was
 *  left as it is.
 *  Consequence: an event's id never ends as that of a redelivery does, and two message ids never have the same.
 *
 *  Symptom: the list led to deliveries of such message ids that were not found, and neither retries nor cancellations reached them.
 *  Cause: a parcel had the hash of the message id in its place, while it is asked for the hash in the id of the delivery.
 *  Consequence: a parcel has the hash that is in the id of the delivery. */

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventIdOf, eventWorkflowId, redeliveryWorkflowId } from '../../src/contracts/names.ts'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const parts = fc.constantFrom('redelivery', '/', '%2F', '%25', '2F', '1', '23', 'm')
const messageIds = fc.array(parts, { minLength: 1, maxLength: 7 }).map((some) => some.join(''))

it('no two deliveries share an id', () => {
  fc.assert(
    fc.property(messageIds, messageIds, fc.integer({ min: 1, max: 30 }), (one, other, n) => {
      const id = eventWorkflowId('src_1', one)
      expect(eventIdOf(id)).toBe(id)
      expect(eventIdOf(redeliveryWorkflowId(id, n))).toBe(id)
      if (one !== other) expect(eventWorkflowId('src_1', other)).not.toBe(id)
    }),
    { numRuns: 5_000 },
  )
})

it.each(['m1', 'orders/4711', 'redelivery', 'redelivery/x', 'a%2Fb', 'm/redelivery/1/'])(
  'the message id %s stands in the id as it is',
  (messageId) => expect(eventWorkflowId('src_1', messageId)).toBe(`event/src_1/${messageId}`),
)

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { TEMPORAL_UI_URL: 'http://temporal.test', POSTRIDER_RETRY_WINDOW: '1h' } })
})
afterAll(() => node[Symbol.asyncDispose]())

it('each is delivered, found and delivered again', async () => {
  await using receiver = await startReceiver()
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const ids = ['m', 'm/redelivery/1', 'm%2Fredelivery/1', 'm/redelivery%2F1', 'redelivery/1', 'redelivery/2']
  const path = (id: string): string => `/deliveries/${encodeURIComponent(id)}`
  const untilDelivered = (id: string): Promise<DeliveryDetail> =>
    until(`${id} is delivered`, async () => {
      const { status, body } = await node.api<DeliveryDetail>('GET', path(id))
      return status === 200 && body.status === 'delivered' && body
    })
  for (const [index, messageId] of ids.entries()) {
    await node.post('/track', source.writeKey, { messageId, userId: 'u1', event: 'E' })
    const found = await until(`${messageId} is in the list`, async () => {
      const query = new URLSearchParams({ messageId, sourceId: source.id, status: 'delivered' })
      const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?${query.toString()}`)
      return body.items[0]
    })
    expect(await untilDelivered(found.id)).toMatchObject({ messageId, message: { messageId } })
    const { body } = await node.api<{ id: string }>('POST', `${path(found.id)}/redeliver`)
    expect(body.id).toBe(`${found.id}/redelivery/1`)
    expect(await untilDelivered(body.id)).toMatchObject({ messageId })
    expect(
      receiver.requests.map((one) => (JSON.parse(one.body.toString()) as { messageId: string }).messageId),
    ).toEqual(ids.slice(0, index + 1).flatMap((id) => [id, id]))
  }
})

it('each is found and cancelled in a parcel, too', async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const ids = Array.from({ length: 240 }, (_, n) => `m/redelivery/${n}`)
  const batch = ids.map((messageId) => ({ type: 'track', event: 'E', userId: 'u1', messageId }))
  expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
  await until('all are retried', async () => {
    const { body } = await node.api<{ count: number }>('GET', `/deliveries/count?sourceId=${source.id}&status=retrying`)
    return body.count === ids.length
  })
  const path = (messageId: string): string => `/deliveries/${encodeURIComponent(eventWorkflowId(source.id, messageId))}`
  const inParcels: string[] = []
  for (const messageId of ids) {
    const { status, body } = await node.api<DeliveryDetail>('GET', path(messageId))
    expect({ messageId, status }).toEqual({ messageId, status: 200 })
    if (body.temporalUiUrl?.includes('/parcel%2F') === true) inParcels.push(messageId)
  }
  const [messageId = ''] = inParcels
  expect(await node.api('POST', `${path(messageId)}/cancel`, { why: 'tried' })).toMatchObject({ status: 200 })
  const cancelled = await until('it is cancelled', async () => {
    const { body } = await node.api<DeliveryDetail>('GET', path(messageId))
    return body.status === 'cancelled' && body
  })
  expect(cancelled).toMatchObject({ messageId, steering: [{ action: 'cancel', why: 'tried' }] })
})
