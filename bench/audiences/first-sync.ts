import { connectAudience, members, watchSync } from './members.ts'
import type { BenchNode } from './node.ts'

/** Looking at a sync costs its node some thousandths of a second: not ten times a second while its speed is measured. */
const sendingPauseMs = 500

export interface FirstSync {
  uploadSeconds: number
  comparingSeconds: number
  /** Calls a second, from the beginning of the sending to the end of the sync. */
  rate: number
}

/** A first sync, by upload, of one audience at one destination. */
export async function measureFirstSync(node: BenchNode, url: string, count: number): Promise<FirstSync> {
  const audience = await connectAudience(node, url, 'First sync')
  const startedAt = performance.now()
  const { syncId } = await node.upload(`/audiences/${audience.id}/members`, members(count))
  const uploadedAt = performance.now()
  await watchSync(node, audience, syncId, ({ phase }) => phase === 'sending' || phase === 'ended')
  const comparedAt = performance.now()
  const sync = await watchSync(node, audience, syncId, ({ status }) => status === 'completed', sendingPauseMs)
  if (sync.sent !== count) throw new Error(`not all were sent: ${JSON.stringify(sync)}`)
  return {
    uploadSeconds: (uploadedAt - startedAt) / 1000,
    comparingSeconds: (comparedAt - uploadedAt) / 1000,
    rate: sync.rate,
  }
}
