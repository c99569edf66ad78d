/** The delivery log: Temporal's own visibility, newest first. */

import type { Delivery, DeliveryFilter } from '../schemas/delivery.ts'
import type { Temporal } from './connection.ts'
import { deliveryQuery, toDelivery, type ExecutionInfo } from './delivery-query.ts'

export interface DeliveryPage {
  items: Delivery[]
  /** Where the next page begins; undefined at the end. */
  nextPageToken: Uint8Array | undefined
}

export interface Deliveries {
  list(filter: DeliveryFilter, limit: number, pageToken?: Uint8Array): Promise<DeliveryPage>
  count(filter: DeliveryFilter): Promise<number>
}

/** @param pausedDestinations  ids of the destinations that hold their deliveries now */
export function createDeliveries({ client, namespace }: Temporal, pausedDestinations: () => string[]): Deliveries {
  return {
    async list(filter, limit, pageToken) {
      const paused = pausedDestinations()
      const { executions, nextPageToken } = await client.workflowService.listWorkflowExecutions({
        namespace,
        pageSize: limit,
        query: deliveryQuery(filter, paused),
        ...(pageToken !== undefined && { nextPageToken: pageToken }),
      })
      const isPaused = (id: string): boolean => paused.includes(id)
      return {
        items: executions.map((info: ExecutionInfo) => toDelivery(info, isPaused)),
        nextPageToken: nextPageToken.length > 0 ? nextPageToken : undefined,
      }
    },
    async count(filter) {
      const { count } = await client.workflow.count(deliveryQuery(filter, pausedDestinations()))
      return count
    },
  }
}
