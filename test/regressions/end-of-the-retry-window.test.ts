/** Symptom: of a delivery that had failed, the list and its page had an attempt less than the receiver, for good.
 *  Cause: Temporal ends the activity when the time for retries is over, and takes no account of an attempt that is under way then, nor of one
 *  whose report comes a moment later.
 *  Consequence: the history of a failed delivery was not what the receiver got. */

import { expect, it, onTestFinished } from 'vitest'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { deliveryPath, track, untilStatus } from '../support/deliveries.ts'
import { startGrpcProxy } from '../support/grpc-proxy.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const timeout = 120_000

interface Given {
  node: TestApp
  receiver: Receiver
}

/** A node, and an endpoint that fails at once, and then after a while.
 *  @param isTold  whether Temporal gets the reports of tries */
async function given(retryMs: number, isTold: (receiver: Receiver) => boolean, windowMs = 4_000): Promise<Given> {
  const receiver = await startReceiver()
  receiver.answer(() => ({ status: 503, delayMs: receiver.requests.length > 1 ? retryMs : 0 }))
  const proxy = await startGrpcProxy(temporalAddress(), {
    denies: (path) => /\/(RespondActivityTask\w+|RecordActivityTaskHeartbeat)$/.test(path) && !isTold(receiver),
  })
  const node = await startTestApp({
    environment: { TEMPORAL_ADDRESS: proxy.address, POSTRIDER_RETRY_WINDOW: `${windowMs}ms` },
  })
  onTestFinished(async () => {
    await node[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
  })
  return { node, receiver }
}

/** The delivery of one event, once it has failed and has so many attempts. */
async function failed({ node, receiver }: Given, attempts: number): Promise<DeliveryDetail> {
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const id = await track(node, source, { userId: 'u1', event: 'Late', messageId: 'late' })
  await untilStatus(node, id, 'failed')
  await until('the list counts its attempts', async () => {
    const { body } = await node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}`)
    return body.items[0]?.attempts === attempts
  })
  expect(receiver.requests).toHaveLength(attempts)
  return (await node.api<DeliveryDetail>('GET', deliveryPath(id))).body
}

it('an attempt whose report comes when the time for retries is over stands in the history', { timeout }, async () => {
  const { timeline } = await failed(await given(2_000, ({ requests }) => requests.length < 2), 2)
  expect(timeline.map(({ status }) => status)).toEqual([503, 503])
})

it('an attempt that is under way when the time for retries is over stands in the history', { timeout }, async () => {
  // Longer than an attempt may take.
  const { timeline } = await failed(await given(6_000, () => true), 2)
  expect(timeline.map(({ status }) => status)).toEqual([503, null])
})

it('an attempt that is cut off as the time for retries is over says so', { timeout }, async () => {
  // The first heartbeat comes after its end, and before the answer.
  const { timeline } = await failed(await given(4_500, () => true, 2_500), 2)
  expect(timeline[1]?.error).toBe('the attempt was stopped in the middle: the time for retries was over')
})
