import type { Audience } from '../../src/schemas/audience.ts'
import { members, watchSync } from './members.ts'
import type { BenchNode } from './node.ts'

/** A membership that is uploaded and taken over, at no destination.
 *  @returns seconds of the upload */
export async function measureUpload(node: BenchNode, count: number): Promise<number> {
  const audience = await node.api<Audience>('POST', '/audiences', { name: 'Large upload', destinationIds: [] })
  const startedAt = performance.now()
  const { syncId } = await node.upload(`/audiences/${audience.id}/members`, members(count))
  const seconds = (performance.now() - startedAt) / 1000
  const { rowsRead } = await watchSync(node, audience, syncId, ({ status }) => status === 'completed')
  if (rowsRead !== count) throw new Error(`${rowsRead} rows were read`)
  return seconds
}
