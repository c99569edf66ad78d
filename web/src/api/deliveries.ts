import { queryOptions } from '@tanstack/react-query'
import type {
  BulkSteering,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  DeliverySteered,
  RedeliveryPart,
  Steerable,
  SteeringAction,
} from '../../../src/schemas/delivery.ts'
import { pagedQuery } from './query-client.ts'
import { request, segment, type Page } from './request.ts'

export const deliveriesQuery = (filter: DeliveryFilter) =>
  pagedQuery<Delivery>(['deliveries', 'list'], '/deliveries', { ...filter, limit: 50 })

/** The newest deliveries to a destination that failed for good. */
export const recentFailuresQuery = (destinationId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'failures', destinationId],
    queryFn: ({ signal }) =>
      request<Page<Delivery>>('GET', '/deliveries', { query: { destinationId, status: 'failed', limit: 5 }, signal }),
  })

export const deliveryCountQuery = (filter: DeliveryFilter) =>
  queryOptions({
    queryKey: ['deliveries', 'count', filter],
    queryFn: ({ signal }) => request<{ count: number }>('GET', '/deliveries/count', { query: { ...filter }, signal }),
  })

/** How many of those that match an action can act on. */
export const steerableQuery = (action: SteeringAction, filter: DeliveryFilter) =>
  queryOptions({
    queryKey: ['deliveries', 'steerable', action, filter],
    queryFn: ({ signal }) =>
      request<Steerable>('GET', '/deliveries/steerable', { query: { ...filter, action }, signal }),
  })

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'detail', id],
    queryFn: ({ signal }) => request<DeliveryDetail>('GET', `/deliveries/${segment(id)}`, { signal }),
  })

/** Steers one delivery; a redelivery may go to a part of its destinations only, and answers with the id of the new one, the others with what became of it. */
export const steerDelivery = (
  id: string,
  action: SteeringAction,
  why = '',
  only?: RedeliveryPart,
): Promise<{ id?: string; became?: DeliverySteered }> =>
  request('POST', `/deliveries/${segment(id)}/${action}`, { body: { ...reason(why), ...(only && { only }) } })

/** Begins to steer all deliveries that match. */
export const startBulkSteering = (action: SteeringAction, filter: DeliveryFilter, why: string): Promise<BulkSteering> =>
  request('POST', `/deliveries/${action}`, { body: { ...filter, ...reason(why) } })

const reason = (why: string): { why?: string } => (why.trim() === '' ? {} : { why: why.trim() })

export const bulkSteeringQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'bulk', id],
    queryFn: ({ signal }) => request<BulkSteering>('GET', `/deliveries/bulk/${segment(id)}`, { signal }),
  })

export const stopBulkSteering = (id: string): Promise<unknown> =>
  request('POST', `/deliveries/bulk/${segment(id)}/stop`)
