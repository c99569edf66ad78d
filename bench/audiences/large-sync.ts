import { startLiveEvents, type Latencies } from './live-events.ts'
import { connectAudience, getSync, members, watchSync } from './members.ts'
import type { BenchNode } from './node.ts'

export interface LargeSync {
  idle: Latencies
  uploading: Latencies
  comparing: Latencies
  sending: Latencies
  rate: number
}

const idleMs = 20_000

/** Live events beside a large sync, phase by phase; the sync is stopped after some seconds of sending. */
export async function measureLargeSync(
  node: BenchNode,
  url: string,
  count: number,
  sendingSeconds: number,
): Promise<LargeSync> {
  const audience = await connectAudience(node, url, 'Large sync')
  const live = await startLiveEvents(node)
  try {
    await live.take(5_000)
    const idle = await live.take(idleMs)
    const uploading = live.take()
    const { syncId } = await node.upload(`/audiences/${audience.id}/members`, members(count))
    const duringUpload = await uploading.end()
    const comparing = live.take()
    await watchSync(node, audience, syncId, ({ phase }) => phase === 'sending' || phase === 'ended')
    const duringComparison = await comparing.end()
    const duringSending = await live.take(sendingSeconds * 1000)
    const { rate } = await getSync(node, audience, syncId)
    await node.api('POST', `/audiences/${audience.id}/syncs/${syncId}/stop`)
    return { idle, uploading: duringUpload, comparing: duringComparison, sending: duringSending, rate }
  } finally {
    await live.stop()
  }
}
