/** What crosses the Temporal boundary when many deliveries are steered at once. */

import type { SteeringTrace } from './delivery.ts'

/** What is done to each delivery. */
export type SteeringOrder =
  | { action: 'retry' | 'redeliver' | 'cancel' }
  /** Tells waiting deliveries to look at a destination again that was resumed, switched off or deleted. */
  | { action: 'recheck'; destinationId: string }

/** Input of the workflow `steerDeliveries`. */
export interface SteerDeliveriesInput {
  order: SteeringOrder
  /** Visibility query of the deliveries, without their start times. */
  query: string
  /** Only deliveries that started before; ISO 8601. */
  until: string
  /** How many matched when it began. */
  matched: number
  trace: SteeringTrace
}

/** How far it is: kept in heartbeats, so that another worker goes on from there. */
export interface SteeringProgress {
  done: number
  failed: number
  /** Deliveries that started before are settled; ISO 8601. */
  position: string
}

export interface SteeringActivities {
  steerMatching(input: SteerDeliveriesInput): Promise<SteeringProgress>
}

/** Workflow id of a bulk steering. */
export const steeringWorkflowId = (id: string): string => `steering/${id}`
