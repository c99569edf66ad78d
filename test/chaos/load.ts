/** A steady load with known message ids, and what was promised for each. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Source } from '../../src/schemas/source.ts'

export interface LoadOptions {
  url: string
  /** The first sends single calls, each further one batches. */
  sources: readonly Source[]
  /** Of all sources together. */
  eventsPerSecond: number
}

export interface Load {
  /** Message ids that were answered 200, with their source and the moment (of `performance.now`) of the answer. */
  acknowledged: ReadonlyMap<string, { sourceId: string; at: number }>
  /** Message ids whose request failed or was answered otherwise. They may have arrived all the same, and are not sent again. */
  unacknowledged: ReadonlySet<string>
  /** Sends no more, and waits for the answers; further calls wait too. */
  stop(): Promise<void>
}

/** More events than a request may hand to Temporal directly: these go through the inbox. */
const batchSize = 12

/** A caller gives up after so many milliseconds. */
const requestLimitMs = 10_000

/** Requests that may be without an answer; further ones are left out, as the callers have no place for more. */
const maxPending = 400

export function startLoad({ url, sources, eventsPerSecond }: LoadOptions): Load {
  const acknowledged = new Map<string, { sourceId: string; at: number }>()
  const unacknowledged = new Set<string>()
  const pending = new Set<Promise<void>>()
  const stopping = new AbortController()
  const dispatcher = new Agent({ headersTimeout: requestLimitMs, bodyTimeout: requestLimitMs })

  const post = async ({ id, writeKey }: Source, messageIds: string[]): Promise<void> => {
    const calls = messageIds.map((messageId) => ({ messageId, type: 'track', userId: 'u1', event: 'Chaos' }))
    const isAccepted = await request(`${url}/v1/${calls.length === 1 ? 'track' : 'batch'}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(calls.length === 1 ? calls[0] : { batch: calls }),
      dispatcher,
    }).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode === 200
      },
      () => false,
    )
    for (const messageId of messageIds)
      if (isAccepted) acknowledged.set(messageId, { sourceId: id, at: performance.now() })
      else unacknowledged.add(messageId)
  }

  const sendSteadily = async (source: Source, size: number): Promise<void> => {
    const pauseMs = (1_000 * size * sources.length) / eventsPerSecond
    const begun = performance.now()
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const pauseLeftMs = begun + turn * pauseMs - performance.now()
      if (pauseLeftMs > 0) await sleep(pauseLeftMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted || pending.size >= maxPending) continue
      const ids = Array.from({ length: size }, (_, place) => `${source.id}-${turn}-${place}`)
      const answered = post(source, ids).finally(() => pending.delete(answered))
      pending.add(answered)
    }
  }

  const sending = sources.map((source, place) => sendSteadily(source, place === 0 ? 1 : batchSize))
  const ended = Promise.all(sending)
    .then(() => Promise.all(pending))
    .then(() => dispatcher.close())
  return {
    acknowledged,
    unacknowledged,
    stop() {
      stopping.abort()
      return ended
    },
  }
}
