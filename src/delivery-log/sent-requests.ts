/** What a delivery's endpoints get: the body and the headers of each. */

import type { DeliverEventInput } from '../contracts/delivery.ts'
import type { StoredDestination } from '../db/stored-destination.ts'
import { encodeBody } from '../delivery/body.ts'
import { messageRequest } from '../delivery/post-message.ts'
import type { Mapper } from '../mapping/mapper.ts'
import type { DeliveryAttempt, DeliveryDetail } from '../schemas/delivery.ts'

export type FindDestination = (id: string) => StoredDestination | undefined

export interface SentRequestsDependencies {
  findDestination: FindDestination
  mapper: Mapper
}

/** The requests as they go out with the settings of now, and with the mapping of the delivery: endpoints that were removed have none, nor
 *  have those whose secrets cannot be read.
 *  @param timeline  attempts, oldest first; each request is signed for the time of its endpoint's last one, before the
 *    first for now */
export async function sentRequests(
  { messageId, message, targets }: DeliverEventInput,
  timeline: readonly DeliveryAttempt[],
  { findDestination, mapper }: SentRequestsDependencies,
): Promise<Pick<DeliveryDetail, 'body' | 'requests'>> {
  const unmapped = encodeBody(message)
  const requests = targets.map(async ({ destinationId, endpointIds, mappingId }) => {
    const destination = findDestination(destinationId)
    if (destination === undefined || destination.unreadableReason !== undefined) return []
    const mapped =
      mappingId === undefined
        ? { kind: 'mapped' as const, body: unmapped }
        : await mapper.map({ destinationId, mappingId }, message)
    const endpoints = destination.settings.webhooks.filter(({ id }) => endpointIds.includes(id))
    return endpoints.map((endpoint) => {
      const { id: endpointId, url, method } = endpoint
      const target = { endpointId, url, ...(method && { method }) }
      if (mapped.kind === 'failed') return { ...target, headers: {}, body: null }
      const last = timeline.findLast(({ endpointId }) => endpointId === endpoint.id)
      const at = last === undefined ? new Date() : new Date(last.at)
      const { secrets } = destination
      const { headers, body } = messageRequest({ messageId, body: mapped.body, endpoint, secrets, at })
      return { ...target, headers, body }
    })
  })
  return { body: unmapped, requests: (await Promise.all(requests)).flat() }
}
