/** A sample event sent on the spot, as the management API takes and answers it. */

import { z } from 'zod'
import { EndpointDraftSchema } from './destination.ts'
import { DifferingOptionsSchema } from './endpoint-options.ts'
import { MessageTypeSchema } from './message.ts'

/** A test of a saved destination; the sample is a track call unless `type` is given. */
export const TestRequestSchema = z
  .strictObject({ type: MessageTypeSchema.optional().describe('Type of the sample; `track` unless given') })
  .nullish()

/** A test of endpoints as they are typed, before they are saved; the sample is a track call unless `type` is given. */
export const DraftTestRequestSchema = z.strictObject({
  type: MessageTypeSchema.optional().describe('Type of the sample; `track` unless given'),
  destinationId: z
    .string()
    .optional()
    .describe('Whose secret signs unless the draft has one, and whose entries keep their headers'),
  settings: EndpointDraftSchema.describe('The endpoints, and the secret, as they are typed'),
})
export type DraftTestRequest = z.infer<typeof DraftTestRequestSchema>

/** What came of a test, by endpoint: the request that was sent, and the answer. */
export const EndpointTestSchema = z.object({
  results: z
    .array(
      z.object({
        endpointId: z.string().nullable().describe('Null for an endpoint that is not saved'),
        url: z.string().describe('Where the request went'),
        outcome: z
          .enum(['delivered', 'unavailable', 'rejected'])
          .describe('What a delivery would make of the answer: taken, tried again, or given up'),
        status: z.number().optional().describe('HTTP status of the answer; absent when there was none'),
        durationMs: z
          .number()
          .describe('From the beginning of the request to the end of its answer or its failure, in milliseconds'),
        error: z.string().optional().describe('Why it failed, in words; absent on success'),
        excerpt: z
          .string()
          .optional()
          .describe("Beginning of a failed answer's body, cleaned: at most 1,024 bytes; absent where there is none"),
        request: z
          .object({
            method: DifferingOptionsSchema.shape.method,
            headers: z.record(z.string(), z.string()).describe('Its headers, those of the signature included'),
            body: z.string().describe('Its body, as text'),
          })
          .describe('The request that was sent'),
      }),
    )
    .describe('What each endpoint answered, in their order'),
})
export type EndpointTest = z.infer<typeof EndpointTestSchema>
