/** What a call with `wait` is told of its event. */

import { z } from 'zod'
import { deliveryStatuses } from './delivery.ts'
import { turnedAwayFates } from './turned-away.ts'

/** Where the event stands: the status of its delivery, or why it became none. */
export const FirstOutcomeSchema = z.object({
  status: z
    .enum([...deliveryStatuses, ...turnedAwayFates])
    .describe(
      'Where its delivery stands: `delivering` or `queued` where the time was over before its first attempt was; or why it became none',
    ),
  deliveryId: z
    .string()
    .nullable()
    .describe('Id of its delivery, of which the management API tells more; null where it became none'),
  attempts: z.int().nullable().describe('Requests made so far'),
})
export type FirstOutcome = z.infer<typeof FirstOutcomeSchema>
