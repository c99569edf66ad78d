/** What endpoints got in a night, and what they answered: the truth that pages are held against. */

import { startReceiver, type Answer, type Receiver } from '../../support/receiver.ts'

/** One request, as its receiver saw it. */
export interface Got {
  messageId: string
  url: string
  /** When it arrived, in milliseconds since 1970. */
  at: number
  /** Status of the answer; null: none was given. */
  status: number | null
  /** Whether it waits for an answer. */
  isUnderWay(): boolean
  /** Its node was killed before it had the answer: nobody can tell of it. */
  isLost: boolean
}

export interface Receivers extends AsyncDisposable {
  /** All requests, in order of arrival. */
  got: readonly Got[]
  /** Starts an endpoint that answers 200 until told otherwise. */
  endpoint(path: string): Promise<Endpoint>
  /** To be called when a node is about to be killed: what it has under way is lost. */
  loseWhatIsUnderWay(): void
}

export interface Endpoint {
  url: string
  receiver: Receiver
  answer(answer: number | 'hang'): void
}

export function openReceivers(): Receivers {
  const got: Got[] = []
  const receivers: Receiver[] = []
  return {
    got,
    async endpoint(path) {
      const receiver = await startReceiver()
      receivers.push(receiver)
      const url = `${receiver.url}${path}`
      const answer = (status: number | 'hang'): void =>
        receiver.answer((request): Answer => {
          const { messageId } = JSON.parse(request.body.toString()) as { messageId: string }
          const isHanging = status === 'hang'
          const isUnderWay = (): boolean => isHanging && !request.isAbandoned
          got.push({ messageId, url, at: Date.now(), status: isHanging ? null : status, isUnderWay, isLost: false })
          return isHanging ? 'hang' : { status }
        })
      answer(200)
      return { url, receiver, answer }
    },
    loseWhatIsUnderWay() {
      for (const one of got) if (one.isUnderWay()) one.isLost = true
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(receivers.map((receiver) => receiver.close()))
    },
  }
}
