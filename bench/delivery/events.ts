/** Events that a bench posts through the ingest API, and when they arrive. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Source } from '../../src/schemas/source.ts'
import type { BenchNode } from '../support/node.ts'

export interface Posted {
  messageId: string
  /** performance.now() of the post. */
  at: number
}

/** How long a bench waits for its events, in milliseconds. */
export const arrivalLimitMs = 900_000

/** A source of its own, with one endpoint. */
export async function connect(node: BenchNode, url: string): Promise<Source> {
  const source = await node.api<Source>('POST', '/sources', { name: 'bench' })
  await node.api('POST', '/destinations', {
    name: 'bench',
    type: 'webhooks',
    sourceIds: [source.id],
    settings: { webhooks: [{ url }] },
  })
  return source
}

/** A light client: it shares the processor with what is measured. */
const dispatcher = new Agent({ connections: 128 })

export async function post(node: BenchNode, source: Source, messageId: string): Promise<Posted> {
  const at = performance.now()
  const { statusCode, body } = await request(`${node.url}/v1/track`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}` },
    body: JSON.stringify({ messageId, userId: 'u1', event: 'Bench', properties: { plan: 'pro', value: 19.5 } }),
    dispatcher,
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${statusCode} ${text}`)
  return { messageId, at }
}

/** Posts `total` events with `atATime` under way. */
export async function postMany(
  node: BenchNode,
  source: Source,
  prefix: string,
  total: number,
  atATime: number,
): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < total) await post(node, source, `${prefix}-${next++}`)
  }
  await Promise.all(Array.from({ length: atATime }, work))
}

/** Posts at an even pace, whatever the answers take. */
export async function postAtPace(node: BenchNode, source: Source, total: number, perSecond: number): Promise<Posted[]> {
  const prefix = `paced-${performance.now()}`
  const begun = performance.now()
  const posted: Promise<Posted>[] = []
  for (let index = 0; index < total; index++) {
    await sleep(Math.max(0, begun + (index * 1_000) / perSecond - performance.now()))
    posted.push(post(node, source, `${prefix}-${index}`))
  }
  return Promise.all(posted)
}

/** Milliseconds from post to arrival, of events at an even pace; infinite for one that does not arrive in a minute. */
export async function latencies(
  node: BenchNode,
  source: Source,
  arrivals: ReadonlyMap<string, number>,
  total: number,
  perSecond: number,
): Promise<number[]> {
  const all = await postAtPace(node, source, total, perSecond)
  const deadline = performance.now() + 60_000
  while (all.some(({ messageId }) => !arrivals.has(messageId)) && performance.now() < deadline) await sleep(20)
  return all.map(({ messageId, at }) => (arrivals.get(messageId) ?? Infinity) - at)
}
