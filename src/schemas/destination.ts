/** Destinations, as the management API takes and shows them: `spec/`, "Destination settings". */

import { z } from 'zod'
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
  .record(z.string(), z.string().max(maxHeaderValueLength))
  .refine((entries) => Object.keys(entries).length <= maxHeaders, `must have at most ${maxHeaders} members`)

/** An endpoint. In a change, an entry is the endpoint of its `id`; without one that of its URL, else the next that no other
 *  entry means. What it is keeps its id, and deliveries in progress go on with it. Without `headers` it keeps those it
 *  had, unless the change leads to another origin and does not name the id. */
export const WebhookInputSchema = z.strictObject({
  id: z.string().optional(),
  url: webhookUrl,
  headers: headers.optional(),
})
export type WebhookInput = z.infer<typeof WebhookInputSchema>

const sharedSecret = z.string().min(1).max(maxSecretLength)
const webhooks = z.array(WebhookInputSchema).max(maxEndpoints)
const sourceIds = z.array(z.string()).max(maxConnectedSources)

/** Endpoints and a secret that are tried out before they are saved. */
export const EndpointDraftSchema = z.strictObject({ sharedSecret: sharedSecret.nullish(), webhooks: webhooks.min(1) })

/** How many endpoints must take an event: `any` one, the default (`spec/`, "Multiple endpoints"), or `all`. */
export const SuccessPolicySchema = z.enum(['any', 'all'])

/** Longest time for which a replaced secret goes on signing: 30 days. */
const maxSecretOverlapSeconds = 30 * 24 * 3600

/** A destination to be made: switched on, and connected to no source, unless it says otherwise. */
export const NewDestinationSchema = z.strictObject({
  name: NameSchema,
  type: z.literal('webhooks'),
  enabled: z.boolean().default(true),
  successPolicy: SuccessPolicySchema.default('any'),
  sourceIds: sourceIds.default([]),
  settings: z.strictObject({ sharedSecret: sharedSecret.nullish(), webhooks: webhooks.default([]) }),
})
export type NewDestination = z.infer<typeof NewDestinationSchema>

/** A change of a destination: what it names; the rest stays. */
export const DestinationPatchSchema = z.strictObject({
  name: NameSchema.optional(),
  enabled: z.boolean().optional(),
  paused: z.boolean().optional(),
  successPolicy: SuccessPolicySchema.optional(),
  sourceIds: sourceIds.optional(),
  settings: z
    .strictObject({
      /** A new secret; `null` ends signing. */
      sharedSecret: sharedSecret.nullish(),
      /** How long the replaced secret goes on signing beside the new one, in seconds; not at all unless given. */
      secretOverlapSeconds: z.int().min(0).max(maxSecretOverlapSeconds).optional(),
      webhooks: webhooks.optional(),
    })
    .optional(),
})
export type DestinationPatch = z.infer<typeof DestinationPatchSchema>

/** A destination, without its shared secret. */
export const DestinationSchema = z.object({
  id: z.string(),
  name: z.string(),
  type: z.literal('webhooks'),
  enabled: z.boolean(),
  paused: z.boolean(),
  successPolicy: SuccessPolicySchema,
  sourceIds: z.array(z.string()),
  settings: z.object({
    hasSharedSecret: z.boolean(),
    webhooks: z.array(z.object({ id: z.string(), url: z.string(), headers: z.record(z.string(), z.string()) })),
  }),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
})
export type Destination = z.infer<typeof DestinationSchema>

/** How an endpoint does: no attempt yet; the latest one succeeded; it failed; or so many failed that attempts are kept from it,
 *  but for probes. */
export const EndpointStateSchema = z.object({
  id: z.string(),
  state: z.enum(['untried', 'working', 'failing', 'down']),
  lastAttemptAt: z.iso.datetime().nullable(),
  /** Since when its attempts fail; null while the latest one succeeded. */
  failingSince: z.iso.datetime().nullable(),
  /** Why the latest attempt failed. */
  reason: z.string().nullable(),
  downSince: z.iso.datetime().nullable(),
  /** Null where it is not down, or a probe is due: the next event or retry is the probe. */
  nextProbeAt: z.iso.datetime().nullable(),
  /** Each node judges by its own attempts: how many hold it to be down. */
  downOnNodes: z.int(),
})
export type EndpointState = z.infer<typeof EndpointStateSchema>

/** A destination, and how its endpoints do. */
export const DestinationViewSchema = DestinationSchema.extend({
  /** In the order of `settings.webhooks`. */
  endpoints: z.array(EndpointStateSchema),
})
export type DestinationView = z.infer<typeof DestinationViewSchema>
