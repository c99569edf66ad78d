/** What crosses the Temporal boundary when many deliveries are steered at once. */

import type { SteeringTrace } from './delivery.ts'
import type { DeliveryFilter, DeliveryStatus, RedeliveryPart, SteeringAction } from '../schemas/delivery.ts'

/** What of a delivery is sent again. */
export interface RedeliveryChoice {
  /** A part of its destinations; absent: all of them. */
  only?: RedeliveryPart | undefined
  /** Nothing where it was delivered again before. */
  unlessRedelivered?: boolean | undefined
}

/** What is done to each delivery. */
export type SteeringOrder =
  /** Attempts its waiting endpoints now. */
  | { action: 'retry' }
  /** Stops it. */
  | { action: 'cancel' }
  /** Sends its event once more. */
  | ({ action: 'redeliver' } & RedeliveryChoice)
  /** Tells waiting deliveries to look at a destination again that was resumed, switched off or deleted. */
  | {
      action: 'recheck'
      /** The destination that changed. */
      destinationId: string
    }

/** Where an event in the inbox may stand. */
export type InboxStatus = 'queued' | 'failed' | 'cancelled'

/** Events of the inbox that an order for all that match acts on: those that wait start in their turn, so that they are not retried. */
const inInbox: Record<SteeringAction, InboxStatus[]> = {
  retry: [],
  cancel: ['queued'],
  redeliver: ['failed', 'cancelled'],
}

/** Where events of the inbox stand that an order for all that match acts on.
 *  @param asked  the status that they must have; undefined: any */
export const steeredInInbox = (action: SteeringAction, asked: DeliveryStatus | undefined): InboxStatus[] =>
  inInbox[action].filter((status) => asked === undefined || status === asked)

/** Events of the inbox that are steered. */
export interface SteeredInbox {
  /** Which ones. */
  filter: DeliveryFilter
  /** When that was ordered: what has left the inbox since is steered where it is now. ISO 8601. */
  orderedAt: string
}

/** Input of the workflow `steerDeliveries`. */
export interface SteerDeliveriesInput {
  /** What is done to each. */
  order: SteeringOrder
  /** Events of the inbox, which come first; absent: none. */
  queued?: SteeredInbox
  /** Visibility query of the deliveries, without their start times; absent: none of those that have started. */
  query?: string
  /** Only deliveries that started before; ISO 8601. */
  until: string
  /** When it was ordered, ISO 8601; absent in orders of an early version. What left its parcel until then may have started in it before
   *  `until`. */
  orderedAt?: string
  /** Which events of parcels; absent: none. */
  carried?: DeliveryFilter
  /** How many matched when it began. */
  matched: number
  /** Who steers them, and why. */
  trace: SteeringTrace
}

/** The last event of a parcel that was steered. */
export interface CarriedPlace {
  /** Id of the parcel, which is that of its workflow. */
  parcelId: string
  /** When the parcel was made, as the database writes it. */
  madeAt: string
  /** Its place in the parcel, from 0. */
  place: number
}

/** Why deliveries could not be steered. */
export interface SteeringFailure {
  /** In words for the operator. */
  reason: string
  /** How many deliveries. */
  count: number
}

/** How far it is: kept in heartbeats, so that another worker goes on from there. */
export interface SteeringProgress {
  /** Deliveries that were steered so far. */
  done: number
  /** Deliveries that could not be steered so far. */
  failed: number
  /** Why some failed: at most 10 reasons; absent before the first, and in accounts of early versions. */
  failures?: SteeringFailure[]
  /** The last event of the inbox that was steered, by its position there. */
  queued?: string
  /** When the last event of the inbox was steered, and the others began; ISO 8601. */
  queuedUntil?: string
  /** Deliveries that started before are settled; ISO 8601. */
  position: string
  /** Events of parcels up to this one are settled; they follow the others. */
  carried?: CarriedPlace
}

/** Input of the workflow `recheckDestination`; which destination it is stands in the database. */
export interface RecheckInput {
  /** Id of the change. */
  recheckId: string
}

/** One round of telling the deliveries that wait for a destination. */
export interface RecheckRound extends RecheckInput {
  /** From 0 on. */
  round: number
}

/** Activities of the workflows `steerDeliveries` and `recheckDestination`. */
export interface SteeringActivities {
  /** Steers all deliveries that match, oldest first, and goes on where an earlier try was cut off. */
  steerMatching(input: SteerDeliveriesInput): Promise<SteeringProgress>
  /** Tells the deliveries that wait for a destination of its change: in the first round all of them, then those that are
   *  still held by it alone.
   *  @returns how many it found; undefined when there is nothing to tell any more */
  tellWaiting(input: RecheckRound): Promise<number | undefined>
  /** Forgets a change of which every delivery was told. */
  endRecheck(input: RecheckInput): Promise<void>
}

/** Workflow id of the telling of one change of a destination. */
export const recheckWorkflowId = (recheckId: string): string => `steering/recheck/${recheckId}`

/** Workflow id of a bulk steering. */
export const steeringWorkflowId = (id: string): string => `steering/${id}`

/** Reasons that are told apart; the last one stands for all others. */
const maxReasons = 10
const otherReasons = 'other reasons'

/** Counts more deliveries that could not be steered. */
export function noteFailure(failures: SteeringFailure[], reason: string, count = 1): void {
  const known = failures.find((failure) => failure.reason === reason)
  if (known !== undefined) known.count += count
  else if (failures.length < maxReasons - 1 || reason === otherReasons) failures.push({ reason, count })
  else noteFailure(failures, otherReasons, count)
}
