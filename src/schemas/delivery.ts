/** Deliveries, as the management API shows and steers them. */

import { z } from 'zod'
import { DifferingOptionsSchema, EndpointOptionsSchema } from './endpoint-options.ts'
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
/** Each of them. */
export const startedStatuses = deliveryStatuses.filter((status): status is StartedStatus => status !== 'queued')

/** One event on its way to its destinations, as lists show it. */
export const DeliverySchema = z.object({
  id: z
    .string()
    .describe(
      'Its id: `event/<source id>/<messageId>`, of one that was delivered again with `/redelivery/<n>`; Temporal has a hash in place of the message id',
    ),
  status: DeliveryStatusSchema.describe('Where it stands'),
  sourceId: z.string().describe('Source that the event came from; of a change of an audience, the audience'),
  destinationIds: z.array(z.string()).describe('Destinations that it goes to'),
  type: z.string().describe('Type of the call, or `delete` for the notification of a deletion'),
  event: z
    .string()
    .nullable()
    .describe(
      "Name of a track call's event, or of a page, a screen or another call that has one; in lists up to 255 characters, of a longer one the beginning with an ellipsis",
    ),
  messageId: z
    .string()
    .describe(
      'Message id of the event; in lists up to 255 characters, of a longer one the beginning; empty where it was erased',
    ),
  userId: z
    .string()
    .nullable()
    .describe('User of the event, in lists up to 255 characters of the id; null where it has an anonymous one alone'),
  erased: z
    .boolean()
    .describe('Whether the user was deleted and its data erased: names and body are gone, also from Temporal'),
  startedAt: z.iso
    .datetime()
    .describe('When its delivery started, ISO 8601; while it is queued, when the event was accepted'),
  endedAt: z.iso.datetime().nullable().describe('When it ended, ISO 8601; null while it has not'),
  attempts: z.int().nullable().describe('Requests made so far; null where only the delivery itself tells'),
  nextAttemptAt: z.iso
    .datetime()
    .nullable()
    .describe(
      'When an endpoint is attempted next, ISO 8601; null where none is planned, or only the delivery itself tells',
    ),
  reason: z.string().nullable().describe('Why it failed or waits'),
})
export type Delivery = z.infer<typeof DeliverySchema>

/** One request to one endpoint. */
export const DeliveryAttemptSchema = z.object({
  endpointId: z.string().describe('Id of the endpoint'),
  url: z
    .string()
    .nullable()
    .describe('Where it went, up to 300 characters of it; null for an attempt of an early version'),
  at: z.iso.datetime().describe('When the request began, ISO 8601'),
  durationMs: z
    .number()
    .describe('From the beginning of the request to the end of its answer or its failure, in milliseconds'),
  status: z.int().nullable().describe('HTTP status of the answer; null when there was none'),
  error: z.string().nullable().describe('Why it failed, in words; null on success'),
  isFinal: z
    .boolean()
    .nullable()
    .describe(
      'Whether its failure is final, so that the event is not tried again at this endpoint; null on success, and of attempts of early versions',
    ),
  retryAfterMs: z
    .number()
    .nullable()
    .describe(
      'For how long the endpoint asked to be left alone (`Retry-After` of a 429 or 503), in milliseconds; null where it asked for nothing, and in attempts of early versions',
    ),
  request: z
    .object({
      method: EndpointOptionsSchema.shape.method.describe('Method of the request'),
      headers: z
        .record(z.string(), z.string())
        .describe("Its headers, those of the signature included; values of the endpoint's own are masked"),
      contentType: EndpointOptionsSchema.shape.contentType.describe('How its body was written'),
    })
    .nullable()
    .describe(
      'The request as it was made, whatever the settings are now; null where it is not kept, as of attempts of earlier versions, or none was made',
    ),
  response: z
    .object({
      headers: z
        .array(
          z.object({
            name: z.string().describe('Name of the header, in lower case'),
            value: z.string().describe('Its value; masked in cookies and in headers named after secrets'),
          }),
        )
        .describe('Headers of the answer: the first 50, 3,072 bytes in all, and less in large parcels'),
    })
    .nullable()
    .describe('What was answered beside `status` and `excerpt`; null where there was no answer, or it is not kept'),
  isCut: z.boolean().describe('Whether headers were too many or too long, so that some are not kept'),
  excerpt: z.string().nullable().describe("Beginning of the answer's body, cleaned: at most 1,024 bytes"),
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
  endpointId: z.string().describe('Id of the endpoint'),
  url: z
    .string()
    .nullable()
    .describe('Where its last attempt went, before the first where it would go; null when that is not known any more'),
  status: EndpointStatusSchema.describe('Where it stands at this endpoint'),
  attempts: z.int().describe('Requests made to it'),
  reason: z.string().nullable().describe('Why it was given up, or is attempted again'),
  retryWindowMs: z
    .int()
    .optional()
    .describe('How long after its first attempt it is tried there, in milliseconds; absent: as at the destination'),
})
export type DeliveryEndpoint = z.infer<typeof DeliveryEndpointSchema>

/** What a delivery has come to at one of its destinations. */
export const DeliveryDestinationSchema = z.object({
  destinationId: z.string().describe('Id of the destination'),
  status: DestinationStatusSchema.describe('Where it stands at this destination'),
  retryWindowMs: z
    .int()
    .optional()
    .describe(
      'How long after its first attempt there it is tried, in milliseconds; absent where that is as for the whole delivery',
    ),
  isChosenEndpoint: z
    .literal(true)
    .optional()
    .describe(
      'It was redelivered to one endpoint that was named: a further redelivery goes there again, unless it names another part; absent: to all endpoints',
    ),
  endpoints: z.array(DeliveryEndpointSchema).describe('Where it stands at each endpoint, at most 5'),
})
export type DeliveryDestination = z.infer<typeof DeliveryDestinationSchema>

/** One delivery with all that is known of it. */
export const DeliveryDetailSchema = DeliverySchema.extend({
  message: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('The event: the body that endpoints receive where there is no mapping; null where it was erased'),
  body: z.string().nullable().describe('Its bytes, as text; null where it was erased'),
  requests: z
    .array(
      z.object({
        endpointId: z.string().describe('Id of the endpoint'),
        url: z.string().describe('Where the request goes'),
        method: DifferingOptionsSchema.shape.method,
        headers: z.record(z.string(), z.string()).describe('Headers of the request, those of the signature included'),
        body: z
          .string()
          .nullable()
          .describe(
            'Its body as the mapping of the delivery and the content type make it, as text; null where the mapping cannot be applied',
          ),
      }),
    )
    .describe(
      'The request to each of its endpoints, as an attempt would make it with the settings of now; signed for the time of the last attempt. What was sent stands in `timeline`',
    ),
  outOfOrder: z
    .boolean()
    .describe(
      'Whether it began before others of its user had ended at a destination that keeps their order: it had waited for as long as it may',
    ),
  destinations: z.array(DeliveryDestinationSchema).describe('What it has come to at each of its destinations'),
  retryWindowMs: z
    .int()
    .optional()
    .describe(
      'How long after its first attempt at a destination it is tried there, in milliseconds, as the node was set up when it came; absent where it was erased',
    ),
  timeline: z.array(DeliveryAttemptSchema).describe('Attempts of all endpoints, oldest first'),
  pending: z
    .array(
      z.object({
        endpointId: z.string().describe('Id of the endpoint'),
        running: z.boolean().describe('Whether an attempt is under way'),
        nextAttemptAt: z.iso
          .datetime()
          .nullable()
          .describe('When it is attempted next, ISO 8601; null while an attempt is under way, or that is not known'),
      }),
    )
    .describe('Endpoints that are tried on'),
  steering: z
    .array(
      z.object({
        at: z.iso.datetime().describe('When it was steered, ISO 8601'),
        action: z.string().describe('What was done: `retry`, `redeliver` or `cancel`'),
        by: z.string().nullable().describe('Name of the API token, or `admin`; null where it is not known'),
        why: z.string().nullable().describe('The reason that was given, at most 500 characters; null where none was'),
      }),
    )
    .describe('Who steered it, and why'),
  temporalUiUrl: z.string().nullable().describe("Its workflow in Temporal's UI; null where there is none"),
})
export type DeliveryDetail = z.infer<typeof DeliveryDetailSchema>

/** Which deliveries: all members that are given must fit. */
export const DeliveryFilterSchema = z.strictObject({
  status: DeliveryStatusSchema.optional().describe(
    'Where it stands; beside `destinationId`, where it stands at that destination',
  ),
  sourceId: z.string().max(255).optional().describe('Source that the event came from'),
  destinationId: z.string().max(255).optional().describe('One of the destinations that it goes to'),
  type: MessageTypeSchema.optional().describe('Type of the call, or `delete`'),
  event: z.string().max(32_768).optional().describe('Name of the event, exact and in full'),
  userId: z.string().max(32_768).optional().describe('User of the event, exact and in full'),
  messageId: z.string().max(32_768).optional().describe('Message id of the event, exact and in full'),
  since: z.iso.datetime({ offset: true }).optional().describe('Started at or after this time'),
  until: z.iso.datetime({ offset: true }).optional().describe('Started before this time'),
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
export const SteeringRequestSchema = z
  .strictObject({
    why: z
      .string()
      .max(500)
      .optional()
      .describe("Why it is steered, at most 500 characters; it stands in the delivery's history"),
  })
  .nullish()

/** To whom of several an event is delivered again: a destination, or an endpoint. */
const RedeliveryPartSchema = z
  .strictObject({
    destinationId: z.string().max(255).optional().describe('To this destination of it alone'),
    endpointId: z.string().max(255).optional().describe('To this endpoint of it alone'),
  })
  .refine(
    ({ destinationId, endpointId }) => (destinationId ?? endpointId) !== undefined,
    'must name a destination or an endpoint',
  )
export type RedeliveryPart = z.infer<typeof RedeliveryPartSchema>

const redeliveryMembers = {
  only: RedeliveryPartSchema.optional().describe(
    'To whom it is sent again; unless given, to all of its destinations, and what was redelivered to one endpoint, to that endpoint',
  ),
  unlessRedelivered: z.boolean().optional().describe('Leaves out what was delivered again before; false unless given'),
}

/** Why a delivery is sent again, to whom (to all of its destinations unless given), and whether also once more. */
export const RedeliveryRequestSchema = z
  .strictObject({
    why: z
      .string()
      .max(500)
      .optional()
      .describe("Why it is sent again, at most 500 characters; it stands in the delivery's history"),
    ...redeliveryMembers,
  })
  .nullish()

/** Steering of all deliveries that match: a filter, and why, in at most 500 characters. */
export const BulkSteeringRequestSchema = DeliveryFilterSchema.extend({
  why: z
    .string()
    .max(500)
    .optional()
    .describe("Why they are steered, at most 500 characters; it stands in each delivery's history"),
})

/** Redelivery of all that match: to whom, and whether also once more, as that of a single one. */
export const BulkRedeliveryRequestSchema = BulkSteeringRequestSchema.extend(redeliveryMembers)

/** What keeps an action from a delivery: it waits for paused destinations alone; it has ended, or has not yet; it is in the inbox; none
 *  of its destinations is left and switched on; nothing is known of it any more. */
export const SteeringObstacleSchema = z.enum(['held', 'over', 'under_way', 'queued', 'no_destination', 'gone'])
export type SteeringObstacle = z.infer<typeof SteeringObstacleSchema>

/** Most deliveries of which it is asked one by one what an action can act on. */
export const maxSteerableIds = 200

/** Single deliveries, and what is to be done to them. */
export const SteerableRequestSchema = z.strictObject({
  action: SteeringActionSchema.describe('What is to be done to them'),
  ids: z.array(z.string().max(400)).min(1).max(maxSteerableIds).describe('Their ids, 1 to 200'),
})

/** How many deliveries match, and how many of them an action can act on. */
export const SteerableSchema = z.object({
  matched: z.int().describe('Deliveries that match'),
  steerable: z.int().describe('Those of them on which the action can act'),
  obstacles: z
    .array(
      z.object({
        obstacle: SteeringObstacleSchema.describe('What keeps the action from them'),
        count: z.int().describe('How many it keeps it from'),
      }),
    )
    .describe('What keeps the action from the others'),
  redelivered: z
    .int()
    .optional()
    .describe('Of a redelivery: how many of those on which it can act were delivered again before'),
})
export type Steerable = z.infer<typeof SteerableSchema>

/** How a bulk steering stands. */
export const BulkSteeringSchema = z.object({
  id: z.string().describe('Id of the bulk steering'),
  action: SteeringActionSchema.describe('What is done to each delivery'),
  status: z
    .enum(['running', 'completed', 'stopped', 'failed'])
    .describe('`running`, `completed`, `stopped` by an operator, or `failed`: Temporal gave it up'),
  matched: z.int().describe('Deliveries that matched when it began'),
  done: z.int().describe('Deliveries that were steered so far'),
  failed: z.int().describe('Deliveries that could not be steered so far'),
  failures: z
    .array(
      z.object({
        reason: z.string().describe('Why they could not be steered, in words'),
        count: z.int().describe('How many could not be steered for this reason'),
      }),
    )
    .describe('Why some could not be steered, and how many: at most 10 reasons'),
})
export type BulkSteering = z.infer<typeof BulkSteeringSchema>
