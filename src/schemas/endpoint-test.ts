/** A sample event sent on the spot, as the management API takes and answers it. */

import { z } from 'zod'
import { MessageTypeSchema } from './message.ts'

export const TestRequestSchema = z.strictObject({ type: MessageTypeSchema.optional() }).nullish()

export const EndpointTestSchema = z.object({
  results: z.array(
    z.object({
      endpointId: z.string(),
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
