/** How much sources send and destinations get. */

import { z } from 'zod'

const count = z.int().min(0)

/** Figures of the last 24 hours, and when something came or went for the last time. */
export const ActivitySchema = z.object({
  /** Sources that sent something in the last 7 days; `lastEventAt` is exact to a minute. */
  sources: z.array(z.object({ sourceId: z.string(), received: count, rejected: count, lastEventAt: z.iso.datetime() })),
  /** Destinations that had an attempt; `delivered` and `failed` count requests to endpoints. */
  destinations: z.array(
    z.object({
      destinationId: z.string(),
      delivered: count,
      failed: count,
      lastAttemptAt: z.iso.datetime().nullable(),
    }),
  ),
})
export type Activity = z.infer<typeof ActivitySchema>
