/** What the Temporal UI and the `temporal` command send to a codec server, and get from it. */

import { z } from 'zod'

/** Payloads in one call; a page of a history has some hundreds. */
const maxPayloads = 10_000

/** Payloads as JSON, all bytes in base64. */
export const PayloadsSchema = z.object({
  payloads: z
    .array(
      z.object({
        metadata: z.record(z.string(), z.base64()).optional().describe('How the data is written, in base64'),
        data: z.base64().optional().describe('In base64'),
      }),
    )
    .max(maxPayloads)
    .describe('At most 10,000, answered in the same order'),
})
export type Payloads = z.infer<typeof PayloadsSchema>
