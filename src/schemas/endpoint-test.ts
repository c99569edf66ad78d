/** A sample event sent on the spot, as the management API takes and answers it. */

import { z } from 'zod'
import { EndpointDraftSchema } from './destination.ts'
import { MessageTypeSchema } from './message.ts'

/** A test of a saved destination; the sample is a track call unless `type` is given. */
export const TestRequestSchema = z.strictObject({ type: MessageTypeSchema.optional() }).nullish()

/** A test of endpoints as they are typed, before they are saved; the sample is a track call unless `type` is given. */
export const DraftTestRequestSchema = z.strictObject({
  type: MessageTypeSchema.optional(),
  /** Whose secret signs unless the draft has one, and whose entries keep their headers. */
  destinationId: z.string().optional(),
  settings: EndpointDraftSchema,
})
export type DraftTestRequest = z.infer<typeof DraftTestRequestSchema>

/** What came of a test, by endpoint: the request that was sent, and the answer. */
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
