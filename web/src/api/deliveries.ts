import { queryOptions } from '@tanstack/react-query'
import type {
  BulkSteering,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  DeliverySteered,
  SteeringAction,
} from '../../../src/schemas/delivery.ts'
import { pagedQuery } from './query-client.ts'
import { request, segment } from './request.ts'

export const deliveriesQuery = (filter: DeliveryFilter) =>
  pagedQuery<Delivery>(['deliveries', 'list'], '/deliveries', { ...filter, limit: 50 })

export const deliveryCountQuery = (filter: DeliveryFilter) =>
  queryOptions({
    queryKey: ['deliveries', 'count', filter],
    queryFn: ({ signal }) => request<{ count: number }>('GET', '/deliveries/count', { query: { ...filter }, signal }),
  })

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'detail', id],
    queryFn: ({ signal }) => request<DeliveryDetail>('GET', `/deliveries/${segment(id)}`, { signal }),
  })

/** Steers one delivery; a redelivery answers with the id of the new one, the others with what became of it. */
export const steerDelivery = (
  id: string,
  action: SteeringAction,
  why = '',
): Promise<{ id?: string; became?: DeliverySteered }> =>
  request('POST', `/deliveries/${segment(id)}/${action}`, { body: reason(why) })

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
