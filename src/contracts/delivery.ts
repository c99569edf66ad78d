/** What crosses the boundary between the API, the delivery workflow and its activities. */

import type { MessageBody } from '../schemas/message.ts'

/** How many endpoints must succeed: any one (`spec/`, "Multiple endpoints"), or all of them. */
export type SuccessPolicy = 'any' | 'all'

/** A destination that an event goes to, as it stood when the event was accepted. */
export interface DeliveryTarget {
  destinationId: string
  endpointIds: string[]
  successPolicy: SuccessPolicy
}

/** When failed attempts are repeated; all in milliseconds. */
export interface RetrySchedule {
  /** From the first attempt on; nothing is tried after it. */
  windowMs: number
  /** Pause before the first retry; it doubles with each further one. */
  initialMs: number
  /** Longest pause. */
  maxMs: number
}

/** Input of the workflow `deliverEvent`. */
export interface DeliverEventInput {
  sourceId: string
  messageId: string
  /** The JSON body that every endpoint receives, in the order of its bytes. */
  message: MessageBody
  targets: DeliveryTarget[]
  retry: RetrySchedule
  /** When the event was accepted, ISO 8601; unless given, when the workflow began. */
  acceptedAt?: string
  /** Where each destination stands, when an earlier run of the workflow continues in this one. */
  resumed?: DestinationStanding[]
  /** Attempts that were made in the parcel which the event left, oldest first; at most 100 at each endpoint. */
  earlier?: Attempt[]
}

/** A retry window in progress; all in milliseconds. */
export interface ClockReading {
  /** Since 1970. */
  startedAt: number
  /** How long the destination had been paused in all when counting began, and when it was last read. */
  pausedAtStart?: number
  pausedNow: number
}

/** An endpoint that waits until its destination is resumed. */
export interface HeldEndpoint {
  endpointId: string
  attempts: number
  lastAttempt?: Attempt
  /** Whether an operator ordered the next attempt. */
  isOrdered?: true
}

/** A destination where nothing is under way: settled, or held. */
export type DestinationStanding =
  | { kind: 'settled'; result: DestinationResult }
  | {
      kind: 'held'
      destinationId: string
      clock: ClockReading
      settled: EndpointResult[]
      waiting: HeldEndpoint[]
    }

/** One message to one endpoint. */
export interface AttemptInput {
  /** Absent in attempts that an earlier version asked for. */
  sourceId?: string
  messageId: string
  message: MessageBody
  destinationId: string
  endpointId: string
  /** When the event was accepted, ISO 8601; absent in attempts that an earlier version asked for. */
  acceptedAt?: string
}

/** Input of an activity that tries on. */
export interface RetryInput extends AttemptInput {
  retry: RetrySchedule
  /** Attempts that were made before this activity. */
  attemptsBefore: number
  /** Whether it answers when the endpoint is down, in place of coming again. */
  tellsWhenDown?: boolean
  /** Whether an operator ordered the first attempt that it makes. */
  isOrdered?: boolean
}

/** One request to one endpoint, as the delivery log shows it. */
export interface Attempt {
  endpointId: string
  /** Where it went; in lists of one endpoint's attempts absent where that is where the one before went, and in attempts of early
   *  versions. */
  url?: string
  /** Tells it from another one that began at the same moment; absent where there can be none. */
  id?: string
  /** ISO 8601, when the request began. */
  at: string
  durationMs: number
  /** Status of the answer, when there was one. */
  status?: number
  /** Why it failed, in words for the operator; absent on success. */
  error?: string
  /** Beginning of a failed answer's body, cleaned. */
  excerpt?: string
}

/** What came of one attempt. */
export type AttemptOutcome =
  | { kind: 'delivered'; attempt: Attempt }
  /** Failed in a way that may pass. */
  | { kind: 'unavailable'; attempt: Attempt; retryAfterMs?: number; pausedTotalMs: number }
  /** Failed for good; no request was made when there is no attempt. */
  | { kind: 'rejected'; reason: string; attempt?: Attempt }
  /** Not made: as many as the endpoint may have are under way, or it is down (`isDown`).
   *  `turnInMs`: when to come again, in milliseconds; absent where that is not known. `reason`: why, in words for the operator. */
  | { kind: 'deferred'; turnInMs?: number; pausedTotalMs?: number; reason?: string; isDown?: true }
  /** Not made: the destination is paused. */
  | { kind: 'held' }
  /** Not made: the destination is switched off or deleted, or the user is. */
  | { kind: 'discarded'; reason: string }

/** What came of an activity that tried on; `attempts` are the requests it made, oldest first. */
export interface RetryOutcome {
  outcome: AttemptOutcome
  attempts: Attempt[]
}

/** Details that a failed attempt of a retried activity leaves in Temporal. */
export interface AttemptRecord {
  attempts: Attempt[]
  /** Milliseconds until the next attempt, if the window has room for it. */
  pauseMs: number
}

/** A destination as a waiting delivery needs to know it. */
export interface DestinationState {
  kind: 'active' | 'paused' | 'discarded'
  /** Milliseconds that it has been paused so far, in all. */
  pausedTotalMs: number
}

/** Attempts that activities made which wait or run in Temporal. */
export interface PendingAttempts {
  attempts: Attempt[]
  /** One is being made, of which nothing is known yet; absent where an early version answered. */
  isUnderWay?: boolean
}

/** Activities of the delivery workflow. */
export interface DeliveryActivities {
  /** The first attempt of an event at an endpoint; never throws for what the receiver did. */
  attemptDelivery(input: AttemptInput): Promise<AttemptOutcome>
  /** Waits for the endpoint's turn, makes one attempt and answers what came of it. */
  attemptInTurn(input: RetryInput): Promise<RetryOutcome>
  /** Tries until the endpoint succeeds or fails for good; each failure that may pass is a failed attempt of the activity,
   *  which Temporal retries. */
  retryDelivery(input: RetryInput): Promise<RetryOutcome>
  /** Where a destination stands now: whether deliveries go on, wait, or end. */
  readDestination(destinationId: string): Promise<DestinationState>
  /** Attempts of the activities of an endpoint, or of all, that wait in Temporal: once they are cancelled, nothing has them any
   *  more. */
  readPendingAttempts(endpointId?: string): Promise<PendingAttempts>
}

/** What became of one endpoint. */
export interface EndpointResult {
  endpointId: string
  outcome: 'delivered' | 'failed' | 'discarded' | 'superseded'
  attempts: number
  reason?: string
  /** The last request, when it failed for good. */
  lastAttempt?: Attempt
}

/** What became of one destination. */
export interface DestinationResult {
  destinationId: string
  outcome: 'delivered' | 'failed' | 'discarded'
  endpoints: EndpointResult[]
}

/** Result of the workflow `deliverEvent`; a failed delivery carries it in its failure's details. */
export interface DeliverEventResult {
  /** `partly_delivered`: some destinations took the event, and others never will. */
  outcome: 'delivered' | 'partly_delivered' | 'failed' | 'discarded'
  destinations: DestinationResult[]
}

/** Name in the memo of a delivery that runs on: results of the destinations that have ended without success. */
export const endedInMemo = 'ended'

/** Values of the search attribute `PostriderOutcome`, which is set on the unhappy path only. */
export type OutcomeAttribute = 'retrying' | 'held' | 'delivered' | 'partly_delivered' | 'discarded'

/** Failure types in Temporal: an endpoint that did not take an event now, or had no room for the attempt, and a delivery that
 *  failed for good. */
export const failureTypes = {
  endpointUnavailable: 'EndpointUnavailable',
  endpointSaturated: 'EndpointSaturated',
  deliveryFailed: 'DeliveryFailed',
} as const

/** Who steers a delivery, and why; stands in the workflow's history. */
export interface SteeringTrace {
  by?: string | undefined
  why?: string | undefined
}

/** Names of the signals that a delivery takes. */
export const signals = {
  /** Attempt every waiting endpoint now; argument: SteeringTrace. */
  retryNow: 'retryNow',
  /** A destination was resumed, switched off or deleted: look at it again; argument: its id. */
  destinationChanged: 'destinationChanged',
} as const
