/** Compares what is told of a delivery with what its receivers got. */

import { expect } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { ReceivedRequest, Receiver } from './receiver.ts'

/** Requests of one event. */
export const requestsOf = ({ requests }: Pick<Receiver, 'requests'>, messageId: string): ReceivedRequest[] =>
  requests.filter(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId === messageId)

/** How many attempts are told of each URL. */
export function toldByUrl({ timeline }: Pick<DeliveryDetail, 'timeline'>): Record<string, number> {
  const told: Record<string, number> = {}
  for (const { url } of timeline) told[url ?? 'unknown'] = (told[url ?? 'unknown'] ?? 0) + 1
  return told
}

/** Fails where the list of attempts is not what arrived, each once and at the URL that it went to.
 *  @param receivers  all that the event was sent to, by the URL that led there */
export function expectToldAsReceived(detail: DeliveryDetail, receivers: Record<string, Receiver>): void {
  const received = Object.fromEntries(
    Object.entries(receivers)
      .map(([url, receiver]) => [url, requestsOf(receiver, detail.messageId).length] as const)
      .filter(([, count]) => count > 0),
  )
  expect(toldByUrl(detail)).toEqual(received)
  const total = Object.values(received).reduce((sum, count) => sum + count, 0)
  expect(detail.attempts).toBe(total)
  const perEndpoint = detail.destinations.flatMap(({ endpoints }) => endpoints.map(({ attempts }) => attempts))
  expect(perEndpoint.reduce((sum, count) => sum + count, 0)).toBe(total)
}
