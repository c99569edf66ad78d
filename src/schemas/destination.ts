/** Destinations, as the management API takes and shows them: `spec/`, "Destination settings". */

import { z } from 'zod'
import { DifferingOptionsSchema } from './endpoint-options.ts'
import { FilterSchema } from './filter.ts'
import { MappingSchema } from './mapping.ts'
import { RetryPausesSchema, RetryWindowHoursSchema } from './retry-options.ts'
import { NameSchema } from './source.ts'

/** Most endpoints of one destination: `spec/`, "Limits", which leaves the other bounds here open. */
export const maxEndpoints = 5

/** Longest URL of an endpoint, in characters. */
export const maxUrlLength = 2_048
/** Most static headers of an endpoint. */
export const maxHeaders = 50
/** Longest value of a static header, in characters. */
export const maxHeaderValueLength = 4_096
/** Longest shared secret, in characters. */
export const maxSecretLength = 1_024
/** Most sources that a destination is connected to. */
export const maxConnectedSources = 1_000

const webhookUrl = z
  .string()
  .max(maxUrlLength)
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be a full http or https URL')
  .refine((text) => {
    if (!URL.canParse(text)) return true
    const { username, password } = new URL(text)
    return username === '' && password === ''
  }, 'must not carry a user name or password; send them in an Authorization header')

const headers = z
  .record(
    z.string(),
    z.string().max(maxHeaderValueLength, `must have a value of at most ${maxHeaderValueLength} characters`),
  )
  .refine((entries) => Object.keys(entries).length <= maxHeaders, `must have at most ${maxHeaders} headers`)

/** An endpoint. In a change, an entry is the endpoint of its `id`; without one that of its URL, else the next that no other
 *  entry means. What it is keeps its id, and deliveries in progress go on with it. Without `headers` it keeps those it
 *  had, unless the change leads to another origin and does not name the id. Options that it does not name stay, too. */
export const WebhookInputSchema = z.strictObject({
  ...DifferingOptionsSchema.shape,
  id: z.string().optional().describe('The endpoint that is meant; absent: that of the same URL, or a new one'),
  url: webhookUrl.describe(
    'Where requests go: http or https, at most 2,048 characters, without user name and password',
  ),
  headers: headers
    .optional()
    .describe('Static headers of each request, at most 50, each value at most 4,096 characters; absent: as before'),
})
export type WebhookInput = z.infer<typeof WebhookInputSchema>

const sharedSecret = z.string().min(1).max(maxSecretLength)
const webhooks = z.array(WebhookInputSchema).max(maxEndpoints)
const sourceIds = z.array(z.string()).max(maxConnectedSources)

/** Endpoints and a secret that are tried out before they are saved. */
export const EndpointDraftSchema = z.strictObject({
  sharedSecret: sharedSecret.nullish().describe('Secret that signs, 1 to 1,024 characters; not signed unless given'),
  webhooks: webhooks.min(1).describe('Endpoints that are tried, 1 to 5'),
})

/** How many endpoints must take an event: `any` one, the default (`spec/`, "Multiple endpoints"), or `all`. */
export const SuccessPolicySchema = z.enum(['any', 'all'])

/** What becomes of deliveries while every endpoint fails: they are retried until their window is over, or held until one answers. */
export const OnFailingSchema = z.enum(['retry', 'hold'])

/** Longest time of failure after which a destination is held: a day. */
export const maxHoldAfterSeconds = 24 * 3600

const holdAfterSeconds = z.int().min(1).max(maxHoldAfterSeconds)

/** Longest time for which an event waits for those before it of the same user: a day. */
export const maxOrderWaitSeconds = 24 * 3600

/** The events of each user go one after the other. */
export const OrderPerUserSchema = z.strictObject({
  maxWaitSeconds: z
    .int()
    .min(1)
    .max(maxOrderWaitSeconds)
    .describe('For how long an event waits at most for those before it of the same user, 1 to 86,400 seconds'),
})

/** Longest time for which a replaced secret goes on signing: 30 days. */
export const maxSecretOverlapSeconds = 30 * 24 * 3600

/** A destination to be made: switched on, and connected to no source, unless it says otherwise. */
export const NewDestinationSchema = z.strictObject({
  name: NameSchema.describe('Name for people, 1 to 200 characters'),
  type: z.literal('webhooks').describe('Kind of the destination: there is one'),
  enabled: z.boolean().default(true).describe('Whether events go to it; `true` unless given'),
  successPolicy: SuccessPolicySchema.default('any').describe(
    'Whether one endpoint is enough (`any`, the default), or all must take each event',
  ),
  onFailing: OnFailingSchema.optional().describe(
    'What becomes of deliveries while every endpoint fails: retried until their window is over (`retry`, the default), or held until one answers (`hold`)',
  ),
  holdAfterSeconds: holdAfterSeconds
    .optional()
    .describe('With `hold`, after how long a failure they are held, 1 to 86,400 seconds; 300 unless given'),
  retryWindowHours: RetryWindowHoursSchema.nullish().describe(
    'For how long after its first attempt an event is retried, 1 to 72 hours; as the node is set up unless given',
  ),
  retryPauses: RetryPausesSchema.nullish().describe(
    'Pauses between attempts; as the node is set up, and longer in a longer window, unless given',
  ),
  orderPerUser: OrderPerUserSchema.nullish().describe(
    "Whether each user's events go one after the other, in the order in which they came: an event waits as a whole, at its other destinations, too; side by side unless given",
  ),
  sourceIds: sourceIds.default([]).describe('Sources whose events it gets, at most 1,000; none unless given'),
  filter: FilterSchema.nullish().describe('Which of their events it takes; all unless given'),
  mapping: MappingSchema.nullish().describe('What becomes of an event before it is sent; sent as it is unless given'),
  settings: z
    .strictObject({
      sharedSecret: sharedSecret
        .nullish()
        .describe('Secret that signs, 1 to 1,024 characters; not signed unless given'),
      webhooks: webhooks.default([]).describe('Endpoints, at most 5; none unless given'),
    })
    .describe('Where requests go, and what signs them'),
})
export type NewDestination = z.infer<typeof NewDestinationSchema>

/** A change of a destination: what it names; the rest stays. */
export const DestinationPatchSchema = z.strictObject({
  name: NameSchema.optional().describe('Another name, 1 to 200 characters'),
  enabled: z
    .boolean()
    .optional()
    .describe('Whether events go to it; what waits for one that is switched off is discarded'),
  paused: z
    .boolean()
    .optional()
    .describe('Whether its deliveries wait; while they do, their retry window stands still'),
  successPolicy: SuccessPolicySchema.optional().describe(
    'Whether one endpoint is enough (`any`), or all must take each event',
  ),
  onFailing: OnFailingSchema.optional().describe(
    'Whether deliveries are retried (`retry`) or held (`hold`) while every endpoint fails; `retry` ends a hold',
  ),
  holdAfterSeconds: holdAfterSeconds
    .optional()
    .describe('With `hold`, after how long a failure they are held, 1 to 86,400 seconds'),
  retryWindowHours: RetryWindowHoursSchema.nullish().describe(
    'For how long events that come from now on are retried, 1 to 72 hours; `null`: as the node is set up',
  ),
  retryPauses: RetryPausesSchema.nullish().describe(
    'Pauses between attempts at events that come from now on; `null`: as the node is set up',
  ),
  orderPerUser: OrderPerUserSchema.nullish().describe(
    "Whether each user's events that come from now on go one after the other, as a whole; `null`: side by side",
  ),
  sourceIds: sourceIds.optional().describe('All sources whose events it gets from now on, at most 1,000'),
  filter: FilterSchema.nullish().describe('Which of their events it takes from now on, as a whole; `null`: all'),
  mapping: MappingSchema.nullish().describe(
    'What becomes of events from now on before they are sent, as a whole; `null`: nothing',
  ),
  settings: z
    .strictObject({
      sharedSecret: sharedSecret.nullish().describe('A new secret; `null` ends signing'),
      secretOverlapSeconds: z
        .int()
        .min(0)
        .max(maxSecretOverlapSeconds)
        .optional()
        .describe(
          'How long the replaced secret goes on signing beside the new one, in seconds; not at all unless given',
        ),
      webhooks: webhooks.optional().describe('All its endpoints from now on, at most 5'),
    })
    .optional()
    .describe('Where requests go, and what signs them; what it does not name stays'),
})
export type DestinationPatch = z.infer<typeof DestinationPatchSchema>

/** A destination, without its shared secret. */
export const DestinationSchema = z.object({
  id: z.string().describe('Id of the destination'),
  name: z.string().describe('Name for people'),
  type: z.literal('webhooks').describe('Kind of the destination: there is one'),
  enabled: z.boolean().describe('Whether events go to it'),
  paused: z.boolean().describe('Whether its deliveries wait until it is resumed, by an operator or as `held` says'),
  onFailing: OnFailingSchema.describe('Whether deliveries are retried or held while every endpoint fails'),
  holdAfterSeconds: z.int().describe('With `hold`, after how many seconds of failure they are held'),
  retryWindowHours: z
    .int()
    .nullable()
    .describe('For how many hours after its first attempt an event is retried; null: as the node is set up'),
  retryPauses: RetryPausesSchema.nullable().describe('Pauses between its attempts; null: as the node is set up'),
  orderPerUser: OrderPerUserSchema.nullable().describe(
    "Whether each user's events go one after the other; null: side by side",
  ),
  held: z
    .object({
      since: z.iso.datetime().describe('When Postrider paused it, ISO 8601'),
      failingSince: z.iso.datetime().describe('Since when every endpoint failed by then, ISO 8601'),
    })
    .nullable()
    .describe('Set while it is paused because it fails: Postrider resumes it when an endpoint answers; else null'),
  successPolicy: SuccessPolicySchema.describe('Whether one endpoint is enough (`any`), or all must take each event'),
  sourceIds: z.array(z.string()).describe('Sources whose events it gets'),
  filter: FilterSchema.nullable().describe('Which of their events it takes; null: all'),
  mapping: MappingSchema.nullable().describe('What becomes of an event before it is sent; null: nothing'),
  settings: z
    .object({
      hasSharedSecret: z.boolean().describe('Whether a secret signs its requests; the secret itself is never shown'),
      webhooks: z
        .array(
          z.object({
            ...DifferingOptionsSchema.shape,
            id: z.string().describe('Id of the endpoint'),
            url: z.string().describe('Where its requests go'),
            headers: z
              .record(z.string(), z.string())
              .describe('Static headers of its requests; to viewers their values are masked'),
          }),
        )
        .describe('Its endpoints, at most 5'),
    })
    .describe('Where requests go, and whether they are signed'),
  createdAt: z.iso.datetime().describe('When it was made, ISO 8601'),
  updatedAt: z.iso.datetime().describe('When its settings changed last, ISO 8601'),
})
export type Destination = z.infer<typeof DestinationSchema>

/** How an endpoint does, where a call of a sync counts as an attempt: no attempt yet; the latest one succeeded; it failed; or so many failed
 *  that attempts are kept from it, but for probes. */
export const EndpointStateSchema = z.object({
  id: z.string().describe('Id of the endpoint'),
  state: z
    .enum(['untried', 'working', 'failing', 'down'])
    .describe('How it does, by its latest attempts and calls of syncs'),
  lastAttemptAt: z.iso
    .datetime()
    .nullable()
    .describe('When its latest attempt, or call of a sync, ended, ISO 8601; null before the first'),
  failingSince: z.iso
    .datetime()
    .nullable()
    .describe('The first failure after its newest success, ISO 8601; null while the latest attempt succeeded'),
  reason: z.string().nullable().describe('Why the latest attempt failed'),
  downSince: z.iso
    .datetime()
    .nullable()
    .describe('Since when an endpoint fails that attempts are kept from, ISO 8601; null where they are not'),
  nextProbeAt: z.iso
    .datetime()
    .nullable()
    .describe('Null where it is not down, or a probe is due: the next event or retry is the probe'),
  downOnNodes: z.int().describe('Each node judges by its own attempts: how many hold it to be down'),
})
export type EndpointState = z.infer<typeof EndpointStateSchema>

/** A destination, and how its endpoints do. */
export const DestinationViewSchema = DestinationSchema.extend({
  endpoints: z.array(EndpointStateSchema).describe('In the order of `settings.webhooks`'),
})
export type DestinationView = z.infer<typeof DestinationViewSchema>
