/** How much sources send and destinations get. */

import { z } from 'zod'

const count = z.int().min(0)

/** Figures of the last 24 hours, and when something came or went for the last time. */
export const ActivitySchema = z.object({
  sources: z
    .array(
      z.object({
        sourceId: z.string().describe('Id of the source'),
        received: count.describe('Events that came in the last 24 hours, in any form'),
        rejected: count.describe('Those of them that were refused'),
        lastEventAt: z.iso.datetime().describe('When its last event came, ISO 8601, exact to a minute'),
      }),
    )
    .describe('Sources that sent something in the last 7 days; `lastEventAt` is exact to a minute'),
  destinations: z
    .array(
      z.object({
        destinationId: z.string().describe('Id of the destination'),
        delivered: count.describe('Requests to its endpoints that succeeded in the last 24 hours'),
        failed: count.describe('Requests to its endpoints that failed in the last 24 hours'),
        lastAttemptAt: z.iso
          .datetime()
          .nullable()
          .describe(
            'When its last request began, ISO 8601, at an earlier URL exact to a minute; null where none is known',
          ),
      }),
    )
    .describe('Destinations that had an attempt; `delivered` and `failed` count requests to endpoints'),
})
export type Activity = z.infer<typeof ActivitySchema>
