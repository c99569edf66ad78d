/** A sample event sent on the spot, as the management API takes and answers it. */

import { z } from 'zod'
import { EndpointDraftSchema } from './destination.ts'
import { MessageTypeSchema } from './message.ts'

export const TestRequestSchema = z.strictObject({ type: MessageTypeSchema.optional() }).nullish()

/** A test of endpoints as they are typed, before they are saved. */
export const DraftTestRequestSchema = z.strictObject({
  type: MessageTypeSchema.optional(),
  /** Whose secret signs unless the draft has one, and whose entries keep their headers. */
  destinationId: z.string().optional(),
  settings: EndpointDraftSchema,
})
export type DraftTestRequest = z.infer<typeof DraftTestRequestSchema>

export const EndpointTestSchema = z.object({
  results: z.array(
    z.object({
      /** Null for an endpoint that is not saved. */
      endpointId: z.string().nullable(),
      url: z.string(),
      outcome: z.enum(['delivered', 'unavailable', 'rejected']),
      status: z.number().optional(),
      durationMs: z.number(),
      error: z.string().optional(),
      excerpt: z.string().optional(),
      request: z.object({ headers: z.record(z.string(), z.string()), body: z.string() }),
    }),
  ),
})
export type EndpointTest = z.infer<typeof EndpointTestSchema>
