/** The filter of the list of deliveries, as the address bar holds it. */

import type { DeliveryFilter, DeliveryStatus } from '../../../../src/schemas/delivery.ts'
import { messageTypes } from '../../shared/message-types.ts'

export const statuses: DeliveryStatus[] = [
  'queued',
  'delivering',
  'retrying',
  'held',
  'delivered',
  'partly_delivered',
  'failed',
  'discarded',
  'cancelled',
]

/** Members of the filter that are free text. */
const textMembers = ['sourceId', 'destinationId', 'event', 'userId', 'messageId'] as const

/** Reads a filter from an address; what does not fit is left out. */
export function readFilter(search: Record<string, unknown>): DeliveryFilter {
  const filter: DeliveryFilter = {}
  const status = statuses.find((known) => known === search['status'])
  if (status !== undefined) filter.status = status
  const type = messageTypes.find((known) => known === search['type'])
  if (type !== undefined) filter.type = type
  for (const member of textMembers) {
    const value = search[member]
    if (typeof value === 'string' && value !== '') filter[member] = value
  }
  for (const member of ['since', 'until'] as const) {
    const value = search[member]
    if (typeof value === 'string' && !Number.isNaN(Date.parse(value))) filter[member] = new Date(value).toISOString()
  }
  return filter
}
