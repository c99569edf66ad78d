import { queryOptions } from '@tanstack/react-query'
import type {
  Delivery,
  DeliveryFilter,
  DeliveryStatus,
  DeliverySteered,
  RedeliveryPart,
  Steerable,
  SteeringAction,
} from '../../../src/schemas/delivery.ts'
import { pagedQuery } from './query-client.ts'
import { answerOf, api } from './request.ts'

export const deliveriesQuery = (filter: DeliveryFilter) =>
  pagedQuery(['deliveries', 'list', filter], (cursor, signal) =>
    api.GET('/deliveries', { params: { query: { ...filter, limit: 50, cursor } }, signal }),
  )

/** Failures that are shown of a destination. */
const mostFailures = 5

/** The newest deliveries that failed for good at a destination, also those that others took or may still take; with the reason there. */
export const recentFailuresQuery = (destinationId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'failures', destinationId],
    queryFn: async ({ signal }): Promise<Delivery[]> => {
      const query = { destinationId, status: 'failed', limit: mostFailures } as const
      const { items } = await answerOf(api.GET('/deliveries', { params: { query }, signal }))
      const withReasonHere = async (failed: Delivery): Promise<Delivery> => {
        if (failed.destinationIds.length === 1) return failed
        const { destinations } = await readDelivery(failed.id, signal)
        const here = destinations.find((one) => one.destinationId === destinationId)
        return { ...failed, reason: here?.endpoints.find(({ status }) => status === 'failed')?.reason ?? null }
      }
      return Promise.all(items.map(withReasonHere))
    },
  })

/** Most deliveries of an audience of which the members' list knows where they stand. */
const mostOfAudience = 200

/** Where the newest deliveries of an audience stand: calls that failed, by id. */
export const audienceDeliveriesQuery = (audienceId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'audience', audienceId],
    queryFn: async ({ signal }): Promise<Map<string, DeliveryStatus>> => {
      const query = { sourceId: audienceId, limit: mostOfAudience }
      const { items } = await answerOf(api.GET('/deliveries', { params: { query }, signal }))
      return new Map(items.map(({ id, status }) => [id, status]))
    },
  })

export const deliveryCountQuery = (filter: DeliveryFilter) =>
  queryOptions({
    queryKey: ['deliveries', 'count', filter],
    queryFn: ({ signal }) => answerOf(api.GET('/deliveries/count', { params: { query: filter }, signal })),
  })

/** What is steered: deliveries one by one, or whatever matches. */
export type BulkTarget = { kind: 'ids'; ids: string[] } | { kind: 'filter'; filter: DeliveryFilter }

/** How many of them an action can act on. */
export const steerableQuery = (action: SteeringAction, target: BulkTarget) =>
  queryOptions({
    queryKey: ['deliveries', 'steerable', action, target],
    queryFn: ({ signal }) =>
      target.kind === 'filter'
        ? answerOf(api.GET('/deliveries/steerable', { params: { query: { ...target.filter, action } }, signal }))
        : steerableOf(action, target.ids, signal),
  })

/** Ids that the server takes at a time. */
const idsTogether = 200

async function steerableOf(action: SteeringAction, ids: readonly string[], signal: AbortSignal): Promise<Steerable> {
  const all: Steerable = { matched: 0, steerable: 0, obstacles: [], redelivered: 0 }
  for (let start = 0; start < ids.length; start += idsTogether) {
    const body = { action, ids: ids.slice(start, start + idsTogether) }
    const some = await answerOf(api.POST('/deliveries/steerable', { body, signal }))
    all.matched += some.matched
    all.steerable += some.steerable
    all.redelivered = (all.redelivered ?? 0) + (some.redelivered ?? 0)
    for (const { obstacle, count } of some.obstacles) {
      const known = all.obstacles.find((one) => one.obstacle === obstacle)
      if (known === undefined) all.obstacles.push({ obstacle, count })
      else known.count += count
    }
  }
  return all
}

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'detail', id],
    queryFn: ({ signal }) => readDelivery(id, signal),
  })

const readDelivery = (id: string, signal: AbortSignal) =>
  answerOf(api.GET('/deliveries/{id}', { params: { path: { id } }, signal }))

/** What is sent again: to a part of its destinations only, and not what was before. */
export interface RedeliveryChoice {
  only?: RedeliveryPart
  unlessRedelivered?: true
}

/** Steers one delivery; a redelivery answers with the id of the new one, the others with what became of it. */
export const steerDelivery = (
  id: string,
  action: SteeringAction,
  why = '',
  choice: RedeliveryChoice = {},
): Promise<{ id?: string; became?: DeliverySteered }> =>
  answerOf(api.POST(`/deliveries/{id}/${action}`, { params: { path: { id } }, body: { ...reason(why), ...choice } }))

/** Begins to steer all deliveries that match. */
export const startBulkSteering = (
  action: SteeringAction,
  filter: DeliveryFilter,
  why: string,
  choice: RedeliveryChoice = {},
) => answerOf(api.POST(`/deliveries/${action}`, { body: { ...filter, ...reason(why), ...choice } }))

const reason = (why: string): { why?: string } => (why.trim() === '' ? {} : { why: why.trim() })

export const bulkSteeringQuery = (id: string) =>
  queryOptions({
    queryKey: ['deliveries', 'bulk', id],
    queryFn: ({ signal }) => answerOf(api.GET('/deliveries/bulk/{id}', { params: { path: { id } }, signal })),
  })

export const stopBulkSteering = (id: string) =>
  answerOf(api.POST('/deliveries/bulk/{id}/stop', { params: { path: { id } } }))
