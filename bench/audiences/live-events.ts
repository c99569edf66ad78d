/** Events of a source at a steady rate, and how long each takes from post to arrival. */

import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Source } from '../../src/schemas/source.ts'
import type { BenchNode } from './node.ts'

const perSecond = 20

/** In milliseconds. */
export interface Latencies {
  count: number
  p50: number
  p99: number
}

interface Measurement extends PromiseLike<Latencies> {
  end(): Promise<Latencies>
}

export interface LiveEvents {
  /** Measures from now on, for so long or until its `end`. */
  take(forMs?: number): Measurement
  stop(): Promise<void>
}

export async function startLiveEvents(node: BenchNode): Promise<LiveEvents> {
  const sentAt = new Map<string, number>()
  const takers = new Set<number[]>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.end()
      const { messageId } = JSON.parse(Buffer.concat(chunks).toString()) as { messageId: string }
      const at = sentAt.get(messageId)
      if (at === undefined) return
      sentAt.delete(messageId)
      for (const latencies of takers) latencies.push(performance.now() - at)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

  const { id, writeKey } = await node.api<Source>('POST', '/sources', { name: 'Live' })
  await node.api('POST', '/destinations', {
    name: 'Live',
    type: 'webhooks',
    sourceIds: [id],
    settings: { sharedSecret: 'bench-secret', webhooks: [{ url }] },
  })
  let number = 0
  const send = async (): Promise<void> => {
    const messageId = `live-${number++}`
    sentAt.set(messageId, performance.now())
    const response = await fetch(`${node.url}/v1/track`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ userId: 'u1', event: 'Tick', messageId }),
    })
    await response.arrayBuffer()
  }
  const timer = setInterval(() => void send().catch(() => undefined), 1000 / perSecond)

  return {
    take(forMs) {
      const latencies: number[] = []
      takers.add(latencies)
      const end = async (): Promise<Latencies> => {
        takers.delete(latencies)
        return percentiles(latencies)
      }
      const after = async (): Promise<Latencies> => {
        await sleep(forMs)
        return end()
      }
      return { end, then: (resolve, reject) => after().then(resolve, reject) }
    },
    async stop() {
      clearInterval(timer)
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function percentiles(latencies: number[]): Latencies {
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) }
}
