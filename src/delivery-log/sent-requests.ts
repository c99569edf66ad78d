/** What a delivery's endpoints get: its body, and the headers of each. */

import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { StoredDestination } from '../db/stored-destination.ts'
import { encodeBody } from '../delivery/body.ts'
import { messageRequest } from '../delivery/post-message.ts'
import type { DeliveryAttempt, DeliveryDetail } from '../schemas/delivery.ts'

export type FindDestination = (id: string) => StoredDestination | undefined

/** The requests as they go out with the settings of now: endpoints that were removed have none, nor have
 *  those whose secrets cannot be read.
 *  @param timeline  attempts, oldest first; each request is signed for the time of its endpoint's last one, before the
 *    first for now */
export function sentRequests(
  { messageId, message, targets }: DeliverEventInput,
  timeline: readonly DeliveryAttempt[],
  findDestination: FindDestination,
): Pick<DeliveryDetail, 'body' | 'requests'> {
  const requests = targets.flatMap(({ destinationId, endpointIds }) => {
    const destination = findDestination(destinationId)
    if (destination === undefined || destination.unreadableReason !== undefined) return []
    const endpoints = destination.settings.webhooks.filter(({ id }) => endpointIds.includes(id))
    return endpoints.map((endpoint) => {
      const last = timeline.findLast(({ endpointId }) => endpointId === endpoint.id)
      const at = last === undefined ? new Date() : new Date(last.at)
      const { url, headers } = messageRequest({ messageId, message, endpoint, secrets: destination.secrets, at })
      return { endpointId: endpoint.id, url, headers }
    })
  })
  return { body: encodeBody(message), requests }
}
