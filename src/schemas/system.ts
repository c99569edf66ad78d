/** How the node and what it stands on do; what can be connected; the first steps. */

import { z } from 'zod'
import { EventTypeSchema } from './message.ts'

/** A part that the node stands on and that does not answer. */
export const MissingPartSchema = z.object({
  part: z.enum(['database', 'temporal']),
  reason: z.string(),
  /** When it was first found so. */
  since: z.string(),
})
export type MissingPart = z.infer<typeof MissingPartSchema>

/** The node takes events; `missing` tells what they may wait for. */
export const ReadinessSchema = z.object({ status: z.literal('ready'), missing: z.array(MissingPartSchema) })

/** How the node, its Temporal and its database do, and the settings that matter to an operator. */
export const StatusSchema = z.object({
  version: z.string(),
  nodeVersion: z.string(),
  temporal: z.object({
    address: z.string(),
    namespace: z.string(),
    healthy: z.boolean(),
    uiUrl: z.string().nullable(),
    serverVersion: z.string().nullable(),
  }),
  database: z.object({
    kind: z.enum(['postgresql', 'pglite']),
    healthy: z.boolean(),
    version: z.string().nullable(),
  }),
  /** What does not answer: events wait for it. */
  missing: z.array(MissingPartSchema),
  /** How long deliveries that have ended are kept, in milliseconds. */
  retentionMs: z.number(),
  /** The retry window, the first pause and the longest one, in milliseconds. */
  retry: z.object({ windowMs: z.number(), initialMs: z.number(), maxMs: z.number() }),
  /** Events that wait in the inbox. */
  inboxDepth: z.int(),
})
export type Status = z.infer<typeof StatusSchema>

/** Which of the first steps are done; that a first event came, or was delivered, is never forgotten. */
export const OnboardingSchema = z.object({
  sourceCreated: z.boolean(),
  destinationConnected: z.boolean(),
  firstEventReceived: z.boolean(),
  firstEventDelivered: z.boolean(),
})
export type Onboarding = z.infer<typeof OnboardingSchema>

/** A kind of destination that can be connected. */
export const CatalogItemSchema = z.object({
  type: z.literal('webhooks'),
  name: z.string(),
  description: z.string(),
  connectionMode: z.literal('cloud'),
  sourceTypes: z.literal('all'),
  eventTypes: z.array(EventTypeSchema),
})
export type CatalogItem = z.infer<typeof CatalogItemSchema>
