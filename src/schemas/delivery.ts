/** Deliveries, as the management API shows and steers them. */

import { z } from 'zod'
import { MessageTypeSchema } from './message.ts'

/** Where a delivery stands: in the inbox, on its way, between attempts, waiting for a paused destination, or ended.
 *  `partly_delivered`: some of its destinations took the event, and others failed or were switched off. */
export const deliveryStatuses = [
  'queued',
  'delivering',
  'retrying',
  'held',
  'delivered',
  'partly_delivered',
  'failed',
  'discarded',
  'cancelled',
] as const
/** One of `deliveryStatuses`. */
export const DeliveryStatusSchema = z.enum(deliveryStatuses)
export type DeliveryStatus = z.infer<typeof DeliveryStatusSchema>

/** The status of a delivery that Temporal has. */
export type StartedStatus = Exclude<DeliveryStatus, 'queued'>

/** One event on its way to its destinations, as lists show it. */
export const DeliverySchema = z.object({
  /** Workflow id. */
  id: z.string(),
  status: DeliveryStatusSchema,
  sourceId: z.string(),
  destinationIds: z.array(z.string()),
  type: z.string(),
  /** Name of a track call's event, or of a page, a screen or another call that has one. Lists have up to 255 characters of it and of
   *  the two ids, of a longer one the beginning with an ellipsis. */
  event: z.string().nullable(),
  messageId: z.string(),
  userId: z.string().nullable(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  /** Requests made so far; null where only the delivery itself tells. */
  attempts: z.int().nullable(),
  nextAttemptAt: z.iso.datetime().nullable(),
  /** Why it failed or waits. */
  reason: z.string().nullable(),
})
export type Delivery = z.infer<typeof DeliverySchema>

/** One request to one endpoint. */
export const DeliveryAttemptSchema = z.object({
  endpointId: z.string(),
  /** Where it went, up to 300 characters of it; null for an attempt of an early version. */
  url: z.string().nullable(),
  /** When the request began, ISO 8601. */
  at: z.iso.datetime(),
  durationMs: z.number(),
  /** HTTP status of the answer; null when there was none. */
  status: z.int().nullable(),
  /** Why it failed, in words; null on success. */
  error: z.string().nullable(),
  /** Beginning of a failed answer's body, cleaned: at most 1,024 bytes. */
  excerpt: z.string().nullable(),
})
export type DeliveryAttempt = z.infer<typeof DeliveryAttemptSchema>

/** Where an endpoint of a delivery stands. `superseded`: another endpoint of its destination took the event, and one is
 *  enough. */
export const EndpointStatusSchema = z.enum([
  'queued',
  'delivering',
  'retrying',
  'held',
  'delivered',
  'failed',
  'discarded',
  'cancelled',
  'superseded',
])
export type EndpointStatus = z.infer<typeof EndpointStatusSchema>

/** Where a destination of a delivery stands, by what its endpoints have come to. */
export const DestinationStatusSchema = EndpointStatusSchema.exclude(['superseded'])
export type DestinationStatus = z.infer<typeof DestinationStatusSchema>

/** What a delivery has come to at one of its endpoints. */
export const DeliveryEndpointSchema = z.object({
  endpointId: z.string(),
  /** Where its last attempt went, before the first where it would go; null when that is not known any more. */
  url: z.string().nullable(),
  status: EndpointStatusSchema,
  /** Requests made to it. */
  attempts: z.int(),
  /** Why it was given up, or is attempted again. */
  reason: z.string().nullable(),
})
export type DeliveryEndpoint = z.infer<typeof DeliveryEndpointSchema>

/** What a delivery has come to at one of its destinations. */
export const DeliveryDestinationSchema = z.object({
  destinationId: z.string(),
  status: DestinationStatusSchema,
  endpoints: z.array(DeliveryEndpointSchema),
})
export type DeliveryDestination = z.infer<typeof DeliveryDestinationSchema>

/** One delivery with all that is known of it. */
export const DeliveryDetailSchema = DeliverySchema.extend({
  /** The body that endpoints receive. */
  message: z.record(z.string(), z.unknown()),
  /** The bytes of that body, as text. */
  body: z.string(),
  /** The request to each of its endpoints, as it goes out with the settings of now; signed for the time of the last attempt. */
  requests: z.array(z.object({ endpointId: z.string(), url: z.string(), headers: z.record(z.string(), z.string()) })),
  /** What it has come to at each of its destinations. */
  destinations: z.array(DeliveryDestinationSchema),
  /** Attempts of all endpoints, oldest first. */
  timeline: z.array(DeliveryAttemptSchema),
  /** Endpoints that are tried on. */
  pending: z.array(
    z.object({
      endpointId: z.string(),
      /** Whether an attempt is under way. */
      running: z.boolean(),
      nextAttemptAt: z.iso.datetime().nullable(),
    }),
  ),
  /** Who steered it, and why. */
  steering: z.array(
    z.object({ at: z.iso.datetime(), action: z.string(), by: z.string().nullable(), why: z.string().nullable() }),
  ),
  temporalUiUrl: z.string().nullable(),
})
export type DeliveryDetail = z.infer<typeof DeliveryDetailSchema>

/** Which deliveries: all members that are given must fit. */
export const DeliveryFilterSchema = z.strictObject({
  status: DeliveryStatusSchema.optional(),
  sourceId: z.string().max(255).optional(),
  destinationId: z.string().max(255).optional(),
  type: MessageTypeSchema.optional(),
  /** Name of the event, exact and in full. */
  event: z.string().max(32_768).optional(),
  userId: z.string().max(32_768).optional(),
  messageId: z.string().max(255).optional(),
  /** Started at or after this time. */
  since: z.iso.datetime({ offset: true }).optional(),
  /** Started before this time. */
  until: z.iso.datetime({ offset: true }).optional(),
})
export type DeliveryFilter = z.infer<typeof DeliveryFilterSchema>

/** What an operator can do with a delivery: attempt its waiting endpoints now, send its event once more, or stop it. */
export const steeringActions = ['retry', 'redeliver', 'cancel'] as const
/** One of `steeringActions`. */
export const SteeringActionSchema = z.enum(steeringActions)
export type SteeringAction = z.infer<typeof SteeringActionSchema>

/** What became of a delivery that was retried or cancelled: its waiting endpoints are attempted now; it waited in the inbox, and
 *  has started, or waits on because Temporal does not take it now; it waited in the inbox, and never starts; it had started,
 *  and Temporal stops it. */
export const DeliverySteeredSchema = z.enum(['retrying', 'started', 'queued', 'cancelled', 'cancelling'])
export type DeliverySteered = z.infer<typeof DeliverySteeredSchema>

/** Why a delivery is steered, in at most 500 characters; it stands in the delivery's history. */
export const SteeringRequestSchema = z.strictObject({ why: z.string().max(500).optional() }).nullish()

/** To whom of several an event is delivered again: a destination, or an endpoint. */
const RedeliveryPartSchema = z
  .strictObject({ destinationId: z.string().max(255).optional(), endpointId: z.string().max(255).optional() })
  .refine(
    ({ destinationId, endpointId }) => (destinationId ?? endpointId) !== undefined,
    'must name a destination or an endpoint',
  )
export type RedeliveryPart = z.infer<typeof RedeliveryPartSchema>

/** Why a delivery is sent again, and to whom; to all of its destinations unless given. */
export const RedeliveryRequestSchema = z
  .strictObject({ why: z.string().max(500).optional(), only: RedeliveryPartSchema.optional() })
  .nullish()

/** Steering of all deliveries that match: a filter, and why, in at most 500 characters. */
export const BulkSteeringRequestSchema = DeliveryFilterSchema.extend({ why: z.string().max(500).optional() })

/** Redelivery of all that match, and to whom; each to all of its destinations unless given. */
export const BulkRedeliveryRequestSchema = BulkSteeringRequestSchema.extend({ only: RedeliveryPartSchema.optional() })

/** What keeps an action from a delivery: a paused destination holds it; it has ended, or has not yet; it is in the inbox. */
export const SteeringObstacleSchema = z.enum(['held', 'over', 'under_way', 'queued'])
export type SteeringObstacle = z.infer<typeof SteeringObstacleSchema>

/** How many deliveries match, and how many of them an action can act on. One that a destination holds counts as held, also where it
 *  waits for another one, too. */
export const SteerableSchema = z.object({
  matched: z.int(),
  steerable: z.int(),
  /** What keeps the action from the others. */
  obstacles: z.array(z.object({ obstacle: SteeringObstacleSchema, count: z.int() })),
})
export type Steerable = z.infer<typeof SteerableSchema>

/** How a bulk steering stands. */
export const BulkSteeringSchema = z.object({
  id: z.string(),
  action: SteeringActionSchema,
  status: z.enum(['running', 'completed', 'stopped', 'failed']),
  /** Deliveries that matched when it began. */
  matched: z.int(),
  done: z.int(),
  failed: z.int(),
  /** Why some could not be steered, and how many: at most 10 reasons. */
  failures: z.array(z.object({ reason: z.string(), count: z.int() })),
})
export type BulkSteering = z.infer<typeof BulkSteeringSchema>
