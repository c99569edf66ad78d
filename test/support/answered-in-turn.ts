/** Events of one source at a receiver of their own, which answers each of them in turn. */

import { onTestFinished } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { TestApp } from './app.ts'
import type { NodeProcess } from './node-process.ts'
import { startReceiver, type Answer, type ReceivedRequest } from './receiver.ts'

/** More than get a workflow of their own when they come together. */
const parcelSize = 8

export interface AnswersInTurn {
  name: string
  /** What the receiver answers to each event, one after the other; 200 to all that comes then. */
  answers: Answer[]
  isInParcel?: true
}

export interface EventsUnderWay {
  name: string
  sourceId: string
  messageIds: string[]
  requestsOf: (messageId: string) => ReceivedRequest[]
  /** The delivery as a node shows it. */
  read: (node: Pick<TestApp, 'api'>, messageId: string) => Promise<DeliveryDetail>
}

/** Sends the event, or as many as make a parcel, and waits until the receiver got so many requests for each. The receiver is closed with
 *  the test. */
export async function sendAnsweredInTurn(
  node: NodeProcess,
  { name, answers, isInParcel }: AnswersInTurn,
  untilRequests: number,
): Promise<EventsUnderWay> {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const requestsOf = (messageId: string) => receiver.requests.filter(({ body }) => body.includes(`"${messageId}"`))
  receiver.answer(({ body }) => {
    const { messageId } = JSON.parse(body.toString()) as { messageId: string }
    return answers[requestsOf(messageId).length - 1] ?? { status: 200 }
  })
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  const messageIds = Array.from({ length: isInParcel ? parcelSize : 1 }, (_, n) => `${name} ${n}`)
  const batch = messageIds.map((messageId) => ({ type: 'track', messageId, userId: 'u1', event: 'E' }))
  await node.post('/batch', source.writeKey, { batch })
  await receiver.received(untilRequests * messageIds.length)
  return {
    name,
    sourceId: source.id,
    messageIds,
    requestsOf,
    async read(at, messageId) {
      const id = `event/${source.id}/${messageId}`
      return (await at.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)).body
    },
  }
}
