/** What crosses the boundary between the API, the delivery workflow and its activities. */

import type { MessageBody } from '../schemas/message.ts'
import type { HeldMessage } from './sealed-message.ts'

/** How many endpoints must succeed: any one (`spec/`, "Multiple endpoints"), or all of them. */
export type SuccessPolicy = 'any' | 'all'

/** When failed attempts are repeated, where that is not as the node has it. */
export interface OwnRetry {
  /** The retry window, in milliseconds; absent: there is no other. */
  retryWindowMs?: number
  /** The first and the longest pause, in milliseconds; absent: there are no others. */
  retryPauses?: Pick<RetrySchedule, 'initialMs' | 'maxMs'>
}

/** A destination that an event goes to, as it stood when the event was accepted. */
export interface DeliveryTarget extends OwnRetry {
  /** Id of the destination. */
  destinationId: string
  /** Its endpoints, 1 to 5. */
  endpointIds: string[]
  /** Its endpoint was chosen in a redelivery: a further one goes there again, and not to the others of the destination. */
  isChosenEndpoint?: true
  /** Whether one endpoint is enough, or all must take the event. */
  successPolicy: SuccessPolicy
  /** Names the version of its mapping that was in force; absent: the event is sent as it is. */
  mappingId?: string
  /** What stands above that at some of its endpoints, by their ids; absent: it counts for all. */
  retryAtEndpoints?: Record<string, OwnRetry>
  /** How long an event waits at most for those before it of the same user, in milliseconds; absent: it waits for none. */
  orderWaitMs?: number
  /** Names its place in the line of its user; absent: it stands in none. */
  ticket?: string
}

/** The version of the mapping that one of the targets had. */
export const mappingIdAt = (targets: readonly DeliveryTarget[], destinationId: string): string | undefined =>
  targets.find((target) => target.destinationId === destinationId)?.mappingId

/** When failed attempts are repeated; all in milliseconds. */
export interface RetrySchedule {
  /** From the first attempt on; nothing is tried after it. */
  windowMs: number
  /** Pause before the first retry; it doubles with each further one. */
  initialMs: number
  /** Longest pause. */
  maxMs: number
}

/** An event, and how it is delivered. */
export interface DeliverEventInput {
  /** Source that the event came from. */
  sourceId: string
  /** Message id of the event, at most 100 characters. */
  messageId: string
  /** The JSON body that every endpoint receives, in the order of its bytes. */
  message: MessageBody
  /** Where it goes. */
  targets: DeliveryTarget[]
  /** When failed attempts are repeated. */
  retry: RetrySchedule
  /** When the event was accepted, ISO 8601; unless given, when the workflow began. */
  acceptedAt?: string
  /** It began before others of its user had ended whose order is kept, as it had waited for as long as it may; absent: it did not. */
  isOutOfOrder?: true
  /** Where each destination stands, when an earlier run of the workflow continues in this one. */
  resumed?: DestinationStanding[]
  /** Attempts that were made in the parcel which the event left, oldest first; at most 100 at each endpoint. */
  earlier?: Attempt[]
  /** The trace that its delivery is part of, as W3C Trace Context writes it; absent where tracing was off. */
  traceparent?: string
}

/** Input of the workflow `deliverEvent`. */
export interface HeldEventInput extends Omit<DeliverEventInput, 'message'> {
  /** The JSON body that every endpoint receives; where it is sealed, so is the message id, and its hash stands in its place. */
  message: HeldMessage
}

/** A retry window in progress; all in milliseconds. */
export interface ClockReading {
  /** Since 1970. */
  startedAt: number
  /** How long the destination had been paused in all when counting began, and when it was last read. */
  pausedAtStart?: number
  /** For how long the destination had been paused in all when it was last read. */
  pausedNow: number
}

/** An endpoint that waits until its destination is resumed. */
export interface HeldEndpoint {
  /** Id of the endpoint. */
  endpointId: string
  /** Requests made so far. */
  attempts: number
  /** The newest of them; absent before the first. */
  lastAttempt?: Attempt
  /** Whether an operator ordered the next attempt. */
  isOrdered?: true
}

/** A destination where nothing is under way: settled, or held. */
export type DestinationStanding =
  | {
      kind: 'settled'
      /** What became of it. */
      result: DestinationResult
    }
  | {
      kind: 'held'

      /** Id of the destination. */
      destinationId: string

      /** Its retry window, which stands still meanwhile. */
      clock: ClockReading

      /** Endpoints that have ended. */
      settled: EndpointResult[]

      /** Endpoints that go on when it is resumed. */
      waiting: HeldEndpoint[]
    }

/** One message to one endpoint. */
export interface AttemptInput {
  /** Absent in attempts that an earlier version asked for. */
  sourceId?: string
  /** Message id of the event, which receivers get in each attempt. */
  messageId: string
  /** The JSON body that the endpoint receives. */
  message: HeldMessage
  /** Id of the destination. */
  destinationId: string
  /** Id of the endpoint. */
  endpointId: string
  /** Names the mapping that is applied; absent: the event is sent as it is. */
  mappingId?: string
  /** When the event was accepted, ISO 8601; absent in attempts that an earlier version asked for. */
  acceptedAt?: string
  /** The trace that the delivery is part of; absent where tracing was off. */
  traceparent?: string
}

/** Input of an activity that tries on. */
export interface RetryInput extends AttemptInput {
  /** When failed attempts are repeated. */
  retry: RetrySchedule
  /** Attempts that were made before this activity. */
  attemptsBefore: number
  /** Whether it answers when the endpoint is down, in place of coming again. */
  tellsWhenDown?: boolean
  /** Whether an operator ordered the first attempt that it makes. */
  isOrdered?: boolean
}

/** An activity that Temporal repeats after a pause. */
export interface WaitingTry {
  /** Workflow id of its delivery or parcel. */
  workflowId: string
  /** Run of the workflow. */
  runId: string
  /** Id of the activity in its run. */
  activityId: string
}

/** One request to one endpoint, as the delivery log shows it. */
export interface Attempt {
  /** Id of the endpoint. */
  endpointId: string
  /** Where it went; in lists of one endpoint's attempts absent where that is where the one before went, and in attempts of early
   *  versions. */
  url?: string
  /** Tells it from another one that began at the same moment; absent where there can be none. */
  id?: string
  /** Which attempt of its event at this endpoint it is, from 1, where older ones are left out of the list that it ends; absent otherwise. */
  number?: number
  /** ISO 8601, when the request began. */
  at: string
  /** From the beginning of the request to the end of its answer or its failure, in milliseconds. */
  durationMs: number
  /** Status of the answer, when there was one. */
  status?: number
  /** Why it failed, in words for the operator; absent on success. */
  error?: string
  /** Whether the failure is final; absent on success, and in attempts of early versions. */
  isFinal?: boolean
  /** For how long the receiver asked to be left alone, in milliseconds; absent when it asked for nothing. */
  retryAfterMs?: number
  /** Beginning of a failed answer's body, cleaned; in attempts of early versions, whose evidence is no more than this. */
  excerpt?: string
  /** What was sent and answered: the JSON of an `Evidence`, sealed where the event is; absent where it is not kept. */
  evidence?: string
}

/** What came of one attempt. */
export type AttemptOutcome =
  | {
      kind: 'delivered'
      /** The request that was taken. */
      attempt: Attempt
    }
  /** Failed in a way that may pass. */
  | {
      kind: 'unavailable'
      /** The request that failed. */
      attempt: Attempt
      /** What the receiver asked to wait, in milliseconds; absent when it asked for nothing. */
      retryAfterMs?: number
      /** For how long the destination had been paused in all, in milliseconds. */
      pausedTotalMs: number
    }
  /** Failed for good; no request was made when there is no attempt. */
  | {
      kind: 'rejected'
      /** Why, in words for the operator. */
      reason: string
      /** The request that was refused; absent when none was made. */
      attempt?: Attempt
    }
  /** Not made: as many as the endpoint may have are under way, or it is down. */
  | {
      kind: 'deferred'
      /** When to come again, in milliseconds; absent where that is not known. */
      turnInMs?: number
      /** For how long the destination had been paused in all, in milliseconds. */
      pausedTotalMs?: number
      /** Why, in words for the operator. */
      reason?: string
      /** The endpoint is down. */
      isDown?: true
      /** Only a bound that is set for the endpoint kept it back: it comes when its turn is, and does not count as one in vain. */
      isPaced?: true
    }
  /** Not made: the destination is paused. */
  | { kind: 'held' }
  /** Not made: the destination is switched off or deleted, or the user is. */
  | {
      kind: 'discarded'
      /** Why, in words for the operator. */
      reason: string
    }

/** What came of an activity that tried on; `attempts` are the requests it made, oldest first. */
export interface RetryOutcome {
  /** What came of the last attempt, or of its place. */
  outcome: AttemptOutcome
  /** The requests that it made, oldest first. */
  attempts: Attempt[]
}

/** Details that a failed attempt of a retried activity leaves in Temporal. */
export interface AttemptRecord {
  /** The requests of the activity so far, oldest first. */
  attempts: Attempt[]
  /** Milliseconds until the next attempt, if the window has room for it. */
  pauseMs: number
}

/** A destination as a waiting delivery needs to know it. */
export interface DestinationState {
  /** Whether deliveries go on, wait, or end. */
  kind: 'active' | 'paused' | 'discarded'
  /** Milliseconds that it has been paused so far, in all. */
  pausedTotalMs: number
}

/** Attempts that activities made which wait or run in Temporal. */
export interface PendingAttempts {
  /** The requests, oldest first. */
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
  /** The event has ended at a destination that keeps the order of each user's events: the next of its user goes. */
  leaveLine(ticket: string): Promise<void>
}

/** What became of one endpoint. */
export interface EndpointResult {
  /** Id of the endpoint. */
  endpointId: string
  /** How it ended; `superseded`: another endpoint took the event, and one is enough. */
  outcome: 'delivered' | 'failed' | 'discarded' | 'superseded'
  /** Requests made in all. */
  attempts: number
  /** Why, in words; absent when it was delivered. */
  reason?: string
  /** The last request, when it failed for good. */
  lastAttempt?: Attempt
}

/** What became of one destination. */
export interface DestinationResult {
  /** Id of the destination. */
  destinationId: string
  /** How it ended there, by its success policy. */
  outcome: 'delivered' | 'failed' | 'discarded'
  /** What became of each of its endpoints. */
  endpoints: EndpointResult[]
}

/** Result of the workflow `deliverEvent`; a failed delivery carries it in its failure's details. */
export interface DeliverEventResult {
  /** `partly_delivered`: some destinations took the event, and others never will. */
  outcome: 'delivered' | 'partly_delivered' | 'failed' | 'discarded'
  /** What became of each destination. */
  destinations: DestinationResult[]
}

/** Name in the memo of a delivery that runs on: results of the destinations that have ended without success. */
export const endedInMemo = 'ended'

/** Name in the memo of a delivery that runs on: results of endpoints that were given up while others of their destination, with a longer
 *  retry window, are tried on. */
export const givenUpInMemo = 'givenUp'

/** Values of the search attribute `PostriderOutcome`, which is set on the unhappy path only. */
export type OutcomeAttribute = 'retrying' | 'held' | 'delivered' | 'partly_delivered' | 'discarded'

/** Where a delivery stands at one of its destinations, in values of the search attribute `PostriderResults`; `delivering`: there was no
 *  attempt yet that failed. What had not ended when the workflow did ended with it. */
export type ResultAttribute = 'delivering' | 'retrying' | 'held' | DestinationResult['outcome']

/** Failure types in Temporal: an endpoint that did not take an event now, or had no room for the attempt, and a delivery that
 *  failed for good. */
export const failureTypes = {
  endpointUnavailable: 'EndpointUnavailable',
  endpointSaturated: 'EndpointSaturated',
  deliveryFailed: 'DeliveryFailed',
} as const

/** Who steers a delivery, and why; stands in the workflow's history. */
export interface SteeringTrace {
  /** Name of the API token, or `admin`; absent where it is not known. */
  by?: string | undefined
  /** The reason that was given, at most 500 characters; absent where none was. */
  why?: string | undefined
}

/** Names of the signals that a delivery takes. */
export const signals = {
  /** Attempt every waiting endpoint now; argument: SteeringTrace. */
  retryNow: 'retryNow',
  /** A destination was resumed, switched off or deleted: look at it again; argument: its id. */
  destinationChanged: 'destinationChanged',
} as const
