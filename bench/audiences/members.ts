import { setTimeout as sleep } from 'node:timers/promises'
import type { Audience, Sync } from '../../src/schemas/audience.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { BenchNode } from './node.ts'

const chunkSize = 1_000

/** User ids as systems have them: spread over the alphabet, not in order. */
export const userId = (index: number): string => `${((index * 2_654_435_761) % 4_294_967_296).toString(16)}-${index}`

/** Members as NDJSON, made as they are read. */
export function members(count: number): ReadableStream<Uint8Array> {
  let next = 0
  return new ReadableStream({
    pull(controller) {
      if (next >= count) {
        controller.close()
        return
      }
      let chunk = ''
      for (const end = Math.min(count, next + chunkSize); next < end; next++) chunk += `{"userId":"${userId(next)}"}\n`
      controller.enqueue(Buffer.from(chunk))
    },
  })
}

export async function connectAudience(node: BenchNode, url: string, name: string): Promise<Audience> {
  const destination = await node.api<Destination>('POST', '/destinations', {
    name,
    type: 'webhooks',
    settings: { sharedSecret: 'bench-secret', webhooks: [{ url }] },
  })
  return node.api<Audience>('POST', '/audiences', { name, destinationIds: [destination.id] })
}

export const getSync = (node: BenchNode, audience: Audience, syncId: string): Promise<Sync> =>
  node.api<Sync>('GET', `/audiences/${audience.id}/syncs/${syncId}`)

/** Looks at the sync until `isThere` says so.
 *  @param pauseMs  between two looks, each of which the node has to answer */
export async function watchSync(
  node: BenchNode,
  audience: Audience,
  syncId: string,
  isThere: (sync: Sync) => boolean,
  pauseMs = 100,
): Promise<Sync> {
  for (;;) {
    const sync = await getSync(node, audience, syncId)
    if (isThere(sync)) return sync
    if (sync.status !== 'running') throw new Error(`the sync ended: ${JSON.stringify(sync)}`)
    await sleep(pauseMs)
  }
}
