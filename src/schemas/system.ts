/** How the node and what it stands on do; what can be connected; the first steps. */

import { z } from 'zod'
import { EventTypeSchema } from './message.ts'

/** A part that the node stands on and that does not answer. */
export const MissingPartSchema = z.object({
  part: z
    .enum(['database', 'temporal', 'worker'])
    .describe('Which part does not answer; `worker`: no node delivers, told by nodes that do not deliver themselves'),
  reason: z.string().describe('What is known of the cause, in words'),
  since: z.string().describe('When it was first found so'),
})
export type MissingPart = z.infer<typeof MissingPartSchema>

/** The node takes events; `missing` tells what they may wait for. */
export const ReadinessSchema = z.object({
  status: z.literal('ready').describe('The node takes events'),
  missing: z.array(MissingPartSchema).describe('Parts that do not answer: events wait for them'),
})

/** How the node, its Temporal and its database do, and the settings that matter to an operator. */
export const StatusSchema = z.object({
  version: z.string().describe('Version of Postrider'),
  nodeVersion: z.string().describe('Version of Node.js'),
  temporal: z
    .object({
      address: z.string().describe('Host and port of its front end'),
      namespace: z.string().describe('Namespace that deliveries run in'),
      healthy: z.boolean().describe('Whether it answers'),
      uiUrl: z.string().nullable().describe('Address of its UI; null where none is known'),
      serverVersion: z.string().nullable().describe('Version of the server; null while it does not answer'),
    })
    .describe('Temporal, as this node reaches it'),
  database: z
    .object({
      kind: z
        .enum(['postgresql', 'pglite'])
        .describe('An own server (`postgresql`), or embedded in the node (`pglite`)'),
      healthy: z.boolean().describe('Whether it answers'),
      version: z.string().nullable().describe('Version of PostgreSQL; null while it does not answer'),
    })
    .describe('The database, as this node reaches it'),
  missing: z.array(MissingPartSchema).describe('What does not answer: events wait for it'),
  retentionMs: z.number().describe('How long deliveries that have ended are kept, in milliseconds'),
  retry: z
    .object({
      windowMs: z.number().describe('From the first attempt on, in milliseconds; nothing is tried after it'),
      initialMs: z.number().describe('Pause before the first retry, in milliseconds'),
      maxMs: z.number().describe('Longest pause, in milliseconds'),
    })
    .describe('The retry window, the first pause and the longest one, in milliseconds'),
  inboxDepth: z.int().nullable().describe('Events that wait in the inbox; null while the database does not answer'),
  ingestUrl: z
    .string()
    .nullable()
    .describe('Where sources send, as `POSTRIDER_INGEST_URL` has it; null: at the host of the web app'),
  ingestPort: z
    .int()
    .nullable()
    .describe('Port at which sources send, where the web app has one of its own; null where they share one'),
})
export type Status = z.infer<typeof StatusSchema>

/** Which of the first steps are done; that a first event came, or was delivered, is never forgotten. */
export const OnboardingSchema = z.object({
  sourceCreated: z.boolean().describe('Whether there is a source'),
  destinationConnected: z.boolean().describe('Whether a destination is connected to a source'),
  firstEventReceived: z.boolean().describe('Whether an event ever came'),
  firstEventDelivered: z.boolean().describe('Whether an event was ever delivered'),
})
export type Onboarding = z.infer<typeof OnboardingSchema>

/** A kind of destination that can be connected. */
export const CatalogItemSchema = z.object({
  type: z.literal('webhooks').describe('Kind of the destination, as new ones name it'),
  name: z.string().describe('Name for people'),
  description: z.string().describe('What it does with events, in a sentence'),
  connectionMode: z.literal('cloud').describe('Who sends: Postrider, not the device of the user'),
  sourceTypes: z.literal('all').describe('Sources that can be connected to it'),
  eventTypes: z.array(EventTypeSchema).describe('Types of calls that it takes'),
})
export type CatalogItem = z.infer<typeof CatalogItemSchema>
