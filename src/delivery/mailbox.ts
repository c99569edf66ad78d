/** The way of a request to an endpoint that fetches it: it is laid down, and its attempt waits for the answer. */

import { newListenRequestId } from '../ids.ts'
import { createLookout } from '../lookout.ts'
import type { FetchedRequest } from '../schemas/listen-request.ts'
import type { Answer } from './answer.ts'
import { ConnectionsClosedError } from './connections.ts'
import { AttemptTimeoutError, CalledOffError, FailedExchange } from './exchange.ts'

/** Pause before each look for answers, in milliseconds. */
const lookMs = 100

/** Where requests are laid down. */
export interface MailboxStore {
  add(request: FetchedRequest & { endpointId: string; timeoutMs: number }): Promise<void>
  /** Those of these that are answered. */
  answered(ids: readonly string[]): Promise<string[]>
  /** Takes one away, with its status when it is answered. */
  remove(id: string): Promise<number | undefined>
}

interface Outbound extends Omit<FetchedRequest, 'id'> {
  endpointId: string
  timeoutMs: number
  isCalledOff: (() => boolean) | undefined
}

export interface Mailbox {
  /** As `exchange` does: answers, or throws a FailedExchange. */
  exchange(outbound: Outbound, signal?: AbortSignal): Promise<Answer>
  /** Takes no more requests, and waits for those under way. */
  close(): Promise<void>
}

export function createMailbox(store: MailboxStore): Mailbox {
  const lookout = createLookout((ids) => store.answered(ids), lookMs)
  const underWay = new Set<Promise<number>>()
  let isClosed = false

  /** @returns the status of the answer */
  const ask = async ({ isCalledOff, ...request }: Outbound, signal?: AbortSignal): Promise<number> => {
    if (isClosed) throw new ConnectionsClosedError('No more requests are taken.')
    if (isCalledOff?.() === true) throw new CalledOffError()
    const id = newListenRequestId()
    await store.add({ id, ...request })
    await lookout.wait(id, request.timeoutMs, signal)
    // An answer that came in the last moment counts.
    const status = await store.remove(id)
    if (status !== undefined) return status
    signal?.throwIfAborted()
    throw new AttemptTimeoutError()
  }

  return {
    async exchange(outbound, signal) {
      if (signal?.aborted === true) throw new FailedExchange(signal.reason as Error, undefined)
      const startedAt = performance.now()
      const asked = ask(outbound, signal)
      underWay.add(asked)
      try {
        const status = await asked
        return { status, headers: {}, body: Buffer.alloc(0), durationMs: performance.now() - startedAt }
      } catch (error) {
        throw new FailedExchange(error as Error, performance.now() - startedAt)
      } finally {
        underWay.delete(asked)
      }
    },
    async close() {
      isClosed = true
      await Promise.allSettled(underWay)
    },
  }
}
