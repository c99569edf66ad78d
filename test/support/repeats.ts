/** Requests that came twice: allowed to those alone whose delivery knows of it. */

import { expect } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { TestApp } from './app.ts'
import type { Receiver } from './receiver.ts'

/** Most repeats that are looked up: more are no chance. */
const maxRepeats = 100

export const messageIdsOf = ({ requests }: Pick<Receiver, 'requests'>): string[] =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId)

/** Fails where an event arrived more often than its delivery counts attempts. On a machine that stood still an attempt may
 *  time out although it arrived, and is made again: the delivery then says so. */
export async function expectNoUntoldRepeats(
  { api }: Pick<TestApp, 'api'>,
  receiver: Pick<Receiver, 'requests'>,
  sourceId: string,
): Promise<void> {
  const arrived = new Map<string, number>()
  for (const id of messageIdsOf(receiver)) arrived.set(id, (arrived.get(id) ?? 0) + 1)
  const repeated = [...arrived].filter(([, count]) => count > 1)
  expect(repeated.length).toBeLessThanOrEqual(maxRepeats)
  for (const [id, count] of repeated) {
    const { items } = (await api<Page<Delivery>>('GET', `/deliveries?sourceId=${sourceId}&messageId=${id}`)).body
    expect(items, id).toHaveLength(1)
    expect(items[0]?.attempts, id).toBeGreaterThanOrEqual(count)
  }
}
