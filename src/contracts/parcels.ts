/** What crosses the boundary between the inbox, the workflow `deliverParcel` and its activities: up to 100 events that waited
 *  together share one workflow. */

import type { Attempt, DeliveryTarget, HeldEventInput, RetrySchedule, SteeringTrace } from './delivery.ts'
import type { MessageBody } from '../schemas/message.ts'
import { eventWorkflowId, hashedName } from './names.ts'
import { isSealedMessage, type HeldMessage } from './sealed-message.ts'

/** Most events in a parcel. */
export const maxParcelEvents = 100
/** Most bytes of a parcel's events together, as JSON, unless a single one is larger. */
export const maxParcelBytes = 256 * 1024

/** One event of a parcel: what the workflow `deliverEvent` gets as its input, but for what all events share. */
export interface ParcelEvent {
  /** Source that the event came from. */
  sourceId: string
  /** Message id of the event, at most 100 characters. */
  messageId: string
  /** The JSON body that every endpoint receives. */
  message: MessageBody
  /** Where it goes. */
  targets: DeliveryTarget[]
  /** When the event was accepted, ISO 8601. */
  receivedAt: string
  /** It began before others of its user had ended, as it had waited for as long as it may; absent: it did not. */
  isOutOfOrder?: true
  /** The trace that its delivery is part of, as W3C Trace Context writes it; absent where tracing was off. */
  traceparent?: string
}

/** One event of a parcel, as its workflow has it. */
export interface HeldParcelEvent extends Omit<ParcelEvent, 'message'> {
  /** The JSON body that every endpoint receives; where it is sealed, so is the message id, and its hash stands in its place. */
  message: HeldMessage
}

/** Id of the delivery of an event, as Temporal has it. */
export const heldDeliveryId = ({
  sourceId,
  messageId,
  message,
}: Omit<HeldParcelEvent, 'targets' | 'receivedAt'>): string =>
  isSealedMessage(message) && hashedName.test(messageId)
    ? `event/${sourceId}/${messageId}`
    : eventWorkflowId(sourceId, messageId)

/** Input of the workflow `deliverParcel`: 1 to `maxParcelEvents` events. */
export interface DeliverParcelInput {
  /** The events, in the order in which they came. */
  events: HeldParcelEvent[]
  /** When failed attempts are repeated. */
  retry: RetrySchedule
}

/** An endpoint of one event: as long as it has no `end`, `waits` says for what. */
export interface EndpointProgress {
  /** Id of the endpoint. */
  endpointId: string
  /** Requests made in all. */
  attempts: number
  /** The newest of them. */
  made: Attempt[]
  /** How it ended; absent while it goes on. */
  end?: 'delivered' | 'failed' | 'discarded' | 'superseded'
  /** For its next attempt after one that failed; for its first one; for a destination that is paused. */
  waits?: 'retry' | 'turn' | 'hold'
  /** Why it ended so, or waits. */
  reason?: string
  /** When its next attempt may be made, in milliseconds since 1970. */
  dueAt?: number
  /** When it was found to wait, in milliseconds since 1970: of two rounds that found it differently, the later one tells. */
  foundAt?: number
  /** Its attempt was not made, for the endpoint is down. */
  isDown?: true
}

/** A destination of one event. */
export interface DestinationProgress extends Pick<DeliveryTarget, 'destinationId' | 'successPolicy'> {
  /** How far it is at each endpoint. */
  endpoints: EndpointProgress[]
  /** Names its place in the line of its user; absent: it stands in none. */
  ticket?: string
}

/** How far one event of a parcel is. */
export interface EventProgress {
  /** Its place in the parcel, from 0. */
  place: number
  /** How far it is at each destination. */
  destinations: DestinationProgress[]
  /** `left`: it goes on in a workflow of its own. */
  end?: 'cancelled' | 'left'
}

/** What a round found out about a destination. */
export interface RoundTimes {
  /** For how long it had been paused in all, in milliseconds. */
  pausedTotalMs?: number
}

/** What came of the first round. */
export interface ParcelRound {
  /** How far each event is. */
  progress: EventProgress[]
  /** By destination, where something is still open. */
  times: Record<string, RoundTimes>
  /** Whether the list of deliveries knows it. */
  isRecorded: boolean
}

/** Input of the activity that tries on at one destination. */
export interface ParcelRetryInput {
  /** Id of the destination. */
  destinationId: string
  /** Those that are open there; an endpoint gets no attempt before it is due. */
  events: {
    /** How far the event is. */
    progress: EventProgress
    /** What is sent. */
    event: Omit<HeldParcelEvent, 'targets'>
    /** Names the mapping that is applied; absent: the event is sent as it is. */
    mappingId?: string
  }[]
  /** When failed attempts are repeated: at the endpoints with the longest window, which is that of the activity. */
  retry: RetrySchedule
  /** When they are repeated at other endpoints, by their ids; absent: likewise at all. */
  retryAtEndpoints?: Record<string, RetrySchedule>
}

/** Result of that activity, and details of its failures and heartbeats. */
export interface ParcelRetryRecord extends RoundTimes {
  /** How far each event is. */
  progress: EventProgress[]
  /** The try of the activity that ended with it; absent while one goes on, whose attempts stand in the list alone. */
  endedTry?: number
}

/** Result of the workflow; when an event failed, the workflow fails with it in the details. */
export interface ParcelResult {
  /** How many events came to what. */
  counts: Partial<Record<ParcelEventStatus | 'left', number>>
  /** What became of each event, with the reason, by the id of its delivery, as Temporal has it. */
  events: Record<string, string>
}

/** Where an event of a parcel stands, as lists show it. */
export type ParcelEventStatus =
  'delivering' | 'retrying' | 'held' | 'delivered' | 'partly_delivered' | 'failed' | 'discarded' | 'cancelled'

/** Signal that steers one event: a retried one leaves the parcel for a workflow of its own. */
export const steerInParcel = 'steerInParcel'
/** Argument of that signal. */
export interface ParcelSteering {
  /** Id of its delivery, as Temporal has it. */
  deliveryId: string
  /** Its place in the parcel, from 0; absent in orders of an earlier version. */
  place?: number
  /** Attempt it now, or stop it. */
  action: 'retry' | 'cancel'
  /** Who steers it, and why. */
  trace: SteeringTrace
}

/** An event that leaves its parcel, and with what its own workflow goes on. */
export interface LeavingEvent {
  /** Its place in the parcel, from 0. */
  place: number
  /** Input of the workflow that goes on with it. */
  input: HeldEventInput
}

/** Activities of the parcel workflow. */
export interface ParcelActivities {
  /** The first attempt of each event at each of its endpoints; never throws for what receivers did. */
  attemptParcel(input: DeliverParcelInput): Promise<ParcelRound>
  /** Tries on at one destination until nothing is open there, or what is open is held; each round that leaves something open
   *  is a failed attempt of the activity, which Temporal retries. */
  retryInParcel(input: ParcelRetryInput): Promise<ParcelRetryRecord>
  /** How far the destination's activity is that waits in Temporal: once it is cancelled, nothing has that any more. */
  readParcelProgress(destinationId: string): Promise<ParcelRetryRecord | undefined>
  /** Gives events that left the parcel a workflow of their own. */
  startFromParcel(input: LeavingEvent): Promise<void>
  /** Brings the list of deliveries up to date; it waits for the database. */
  recordParcel(progress: EventProgress[]): Promise<void>
}
