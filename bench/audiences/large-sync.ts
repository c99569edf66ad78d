import { startLiveEvents, type Latencies } from './live-events.ts'
import { connectAudience, getSync, members, watchSync } from './members.ts'
import type { BenchNode } from './node.ts'
import type { BenchReceiver } from './receiver.ts'

export interface LargeSync {
  idle: Latencies
  uploading: Latencies
  comparing: Latencies
  sending: Latencies
  /** Calls a second. */
  rate: number
  /** How the sync ended; absent when it was stopped before. */
  end?: { received: number; repeats: number }
}

const idleMs = 20_000

/** Live events beside a large sync, phase by phase.
 *  @param sendingSeconds  when the sync is stopped; undefined: it is seen to its end */
export async function measureLargeSync(
  node: BenchNode,
  receiver: BenchReceiver,
  count: number,
  sendingSeconds: number | undefined,
): Promise<LargeSync> {
  const audience = await connectAudience(node, receiver.url, 'Large sync')
  const live = await startLiveEvents(node)
  if (sendingSeconds === undefined) receiver.remember()
  try {
    await live.take(5_000)
    const idle = await live.take(idleMs)
    const uploading = live.take()
    const { syncId } = await node.upload(`/audiences/${audience.id}/members`, members(count))
    const duringUpload = await uploading.end()
    const comparing = live.take()
    await watchSync(node, audience, syncId, ({ phase }) => phase === 'sending' || phase === 'ended')
    const duringComparison = await comparing.end()
    const latencies = { idle, uploading: duringUpload, comparing: duringComparison }
    if (sendingSeconds !== undefined) {
      const sending = await live.take(sendingSeconds * 1000)
      const { rate } = await getSync(node, audience, syncId)
      await node.api('POST', `/audiences/${audience.id}/syncs/${syncId}/stop`)
      return { ...latencies, sending, rate }
    }
    const untilEnd = live.take()
    const { rate } = await watchSync(node, audience, syncId, ({ status }) => status === 'completed')
    return { ...latencies, sending: await untilEnd.end(), rate, end: await receiver.remembered() }
  } finally {
    await live.stop()
  }
}
