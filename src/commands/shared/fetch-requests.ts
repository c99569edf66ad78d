/** Fetches the requests of a destination from the node and answers them: for a node that does not reach this machine. */

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerOf } from '@postrider/api'
import { maxFetchWaitSeconds, type FetchedRequest } from '../../schemas/listen-request.ts'
import { reasonOf, type Api } from './api.ts'
import { CommandError } from './failure.ts'

/** Most requests that are being answered at a time. */
const maxUnderWay = 100

/** Pause after a call that the node did not answer, in milliseconds. */
const pauseMs = 1_000

export interface FetchingOptions {
  api: Api
  /** The same node, where the signal ends every call. */
  openUntil: (over: AbortSignal) => Promise<Api>
  destinationId: string
  /** Names who fetches. */
  listener: string
  /** Says with which status the endpoint answers. */
  answer: (request: FetchedRequest) => Promise<number>
  /** Lets no more requests come, when the end is there. */
  leave: () => Promise<void>
  /** Takes a line about what goes wrong for the moment. */
  note: (line: string) => void
}

/** Asks for requests.
 *  @throws CommandError with the code `conflict` where another one fetches them */
export async function askForRequests(
  api: Api,
  destinationId: string,
  listener: string,
  waitSeconds: number,
): Promise<FetchedRequest[]> {
  const call = { params: { path: { id: destinationId } }, body: { listener, waitSeconds } }
  return (await answerOf(api.POST('/destinations/{id}/requests/fetch', call))).requests
}

/** Answers requests until the signal aborts, and then those that are there. It stays the listener until it has left: another one
 *  would find the destination paused. @param begun  those that were fetched before */
export async function fetchRequests(
  { api, openUntil, destinationId, listener, answer, leave, note }: FetchingOptions,
  begun: readonly FetchedRequest[],
  end: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const waiting = await openUntil(over.signal)
  const underWay = new Set<Promise<void>>()
  const answerOne = async (request: FetchedRequest): Promise<void> => {
    const status = await answer(request)
    const params = { path: { id: destinationId, requestId: request.id } }
    await answerOf(api.POST('/destinations/{id}/requests/{requestId}/answer', { params, body: { status } }))
  }
  const begin = (requests: readonly FetchedRequest[]): void => {
    for (const request of requests) {
      const answering = answerOne(request)
        .catch((error: Error) =>
          note(`An answer did not reach the node, which sends the event again: ${error.message}`),
        )
        .finally(() => underWay.delete(answering))
      underWay.add(answering)
    }
  }
  let isAway = false
  const fetchOnce = async (): Promise<void> => {
    try {
      if (underWay.size >= maxUnderWay) await Promise.race(underWay)
      // Without waiting where it was away: that it is back is worth telling at once.
      begin(await askForRequests(waiting, destinationId, listener, isAway ? 0 : maxFetchWaitSeconds))
      if (isAway) note('The node answers again.')
      isAway = false
    } catch (error) {
      if (over.signal.aborted) return
      if (isFinal(error)) throw error
      if (!isAway) note(`${whyAway(api, error)}; trying again.`)
      isAway = true
      await sleep(pauseMs, undefined, { signal: over.signal }).catch(() => undefined)
    }
  }
  const fetching = async (): Promise<void> => {
    while (!over.signal.aborted) await fetchOnce()
  }
  const leaving = async (): Promise<void> => {
    if (!end.aborted) await once(end, 'abort')
    await Promise.all(underWay)
    await leave().finally(() => over.abort())
  }
  begin(begun)
  await Promise.all([fetching(), leaving()])
  await Promise.all(underWay)
  const params = { path: { id: destinationId } }
  await answerOf(api.POST('/destinations/{id}/requests/leave', { params, body: { listener } }))
}

const whyAway = ({ address }: Api, error: unknown): string =>
  error instanceof CommandError && error.cause !== undefined
    ? `${address} does not answer (${reasonOf(error)})`
    : (error as Error).message.replace(/\.$/, '')

/** Whether another try would end the same way. */
const isFinal = (error: unknown): boolean =>
  !(error instanceof CommandError) ||
  error.code === 'conflict' ||
  error.exit === 'unauthorized' ||
  error.exit === 'notFound'
