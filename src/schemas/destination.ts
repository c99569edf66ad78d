/** Destinations, as the management API takes and shows them: `spec/`, "Destination settings". */

import { z } from 'zod'
import { NameSchema } from './source.ts'

/** Most endpoints of one destination: `spec/`, "Limits". */
export const maxEndpoints = 5

/** Bounds that `spec/` leaves open. */
export const maxUrlLength = 2_048
export const maxHeaders = 50
export const maxHeaderValueLength = 4_096
export const maxSecretLength = 1_024
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

export const SuccessPolicySchema = z.enum(['any', 'all'])

/** Longest time for which a replaced secret goes on signing: 30 days. */
const maxSecretOverlapSeconds = 30 * 24 * 3600

export const NewDestinationSchema = z.strictObject({
  name: NameSchema,
  type: z.literal('webhooks'),
  enabled: z.boolean().default(true),
  successPolicy: SuccessPolicySchema.default('any'),
  sourceIds: sourceIds.default([]),
  settings: z.strictObject({ sharedSecret: sharedSecret.nullish(), webhooks: webhooks.default([]) }),
})
export type NewDestination = z.infer<typeof NewDestinationSchema>

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
      /** How long the replaced secret goes on signing beside the new one, in seconds. */
      secretOverlapSeconds: z.int().min(0).max(maxSecretOverlapSeconds).optional(),
      webhooks: webhooks.optional(),
    })
    .optional(),
})
export type DestinationPatch = z.infer<typeof DestinationPatchSchema>

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
