/** What crosses the boundary between the API, the delivery workflow and its activities. */

import type { MessageBody } from '../schemas/message.ts'

/** How many endpoints must succeed: any one (the rule of `spec/`, "Multiple endpoints"), or all of them. */
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
}

/** Input of one attempt: one message to one endpoint. */
export interface AttemptInput {
  sourceId: string
  messageId: string
  message: MessageBody
  destinationId: string
  endpointId: string
}

/** One request to one endpoint, as the delivery log shows it. */
export interface Attempt {
  endpointId: string
  /** ISO 8601, when the request began. */
  at: string
  /** Status of the answer, when there was one. */
  status?: number
  durationMs: number
  /** Why it failed, in words for the operator; absent on success. */
  error?: string
  /** First part of the failed answer's body, cleaned. */
  excerpt?: string
}
