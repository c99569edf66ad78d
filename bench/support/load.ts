/** Load in a process of its own: keeps so many requests under way for a time, each on a connection that stays open. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { quantile } from './figures.ts'

export interface LoadOrder {
  url: string
  writeKey: string
  connections: number
  /** Events in a request; 1 posts single calls. */
  batchSize: number
  /** Ends after this time, or after so many events. */
  seconds: number
  events?: number
  /** Requests a second at most; as fast as answers come unless given. */
  perSecond?: number
  /** Beginning of the message ids. */
  prefix: string
  /** How many users the events are of, in turn, others with each prefix; one unless given. */
  users?: number
}

export interface LoadResult {
  /** Events that were answered 200, and how many a second. */
  accepted: number
  acceptedPerSecond: number
  /** Requests by any other answer: status, or the error's name. */
  refused: Record<string, number>
  p50Ms: number
  p99Ms: number
}

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.once('disconnect', () => process.exit())
process.send?.('ready')

async function run(order: LoadOrder): Promise<LoadResult> {
  const { url, writeKey, connections, batchSize, seconds, events, perSecond, prefix, users = 1 } = order
  const pool = new Pool(url, { connections, pipelining: 1, headersTimeout: 60_000 })
  const headers = {
    authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
    'content-type': 'application/json',
  }
  const path = batchSize === 1 ? '/v1/track' : '/v1/batch'
  const times: number[] = []
  const refused: Record<string, number> = {}
  let next = 0
  let accepted = 0
  const begun = performance.now()
  const deadline = begun + seconds * 1_000
  const post = async (): Promise<void> => {
    const calls = Array.from({ length: batchSize }, () => {
      const number = next++
      return callOf(`${prefix}-${number}`, users === 1 ? 'user-4711' : `user-${prefix}-${number % users}`)
    })
    const sentAt = performance.now()
    let outcome: string
    try {
      const answer = await pool.request({
        method: 'POST',
        path,
        headers,
        body: JSON.stringify(batchSize === 1 ? calls[0] : { batch: calls }),
      })
      await answer.body.dump()
      outcome = String(answer.statusCode)
    } catch (error) {
      outcome = (error as Error).name
    }
    times.push(performance.now() - sentAt)
    if (outcome === '200') accepted += batchSize
    else refused[outcome] = (refused[outcome] ?? 0) + 1
  }
  let turns = 0
  const turn = async (): Promise<void> => {
    if (perSecond !== undefined) await sleep(Math.max(0, begun + (turns++ * 1_000) / perSecond - performance.now()))
  }
  const work = async (): Promise<void> => {
    while (performance.now() < deadline && (events === undefined || next < events)) {
      await turn()
      await post()
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  const elapsedSeconds = (performance.now() - begun) / 1_000
  await pool.close()
  return {
    accepted,
    acceptedPerSecond: accepted / elapsedSeconds,
    refused,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  }
}

const callOf = (messageId: string, userId: string): object => ({
  type: 'track',
  messageId,
  userId,
  event: 'Order Completed',
  timestamp: '2026-01-01T00:00:00.000Z',
  properties: { orderId: 'o-1001', total: 19.5, currency: 'EUR', items: [{ sku: 'a-1', quantity: 2 }], coupon: null },
  context: { ip: '203.0.113.7', locale: 'de-DE', library: { name: 'bench', version: '1.0.0' } },
})
