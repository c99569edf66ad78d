/** What came in and what became of it. */

import { z } from 'zod'

const time = z.iso.datetime({ offset: true })

/** The range and what of it: at most 31 days, in whole minutes; of all sources and destinations unless given. */
export const OverviewQuerySchema = z.strictObject({
  since: time.optional().describe('Beginning of the range; a day before its end unless given'),
  until: time.optional().describe('End of the range; now unless given'),
  sourceId: z.string().max(255).optional().describe('Of this source alone'),
  destinationId: z.string().max(255).optional().describe('Of this destination alone'),
})
export type OverviewQuery = z.infer<typeof OverviewQuerySchema>

const events = z.int().min(0)
/** Null while Temporal does not answer. */
const deliveries = events.nullable()

/** In milliseconds; null where nothing succeeded. */
const PercentilesSchema = z.object({
  p50Ms: z
    .number()
    .nullable()
    .describe('What half of them did not exceed, in milliseconds; null where nothing succeeded'),
  p95Ms: z.number().nullable().describe('What 95 of 100 did not exceed, in milliseconds; null where nothing succeeded'),
})

/** What came in during the range, what became of it, and how the endpoints do. */
export const OverviewSchema = z.object({
  funnel: z
    .object({
      received: events.describe('Everything that came to the door, in any form'),
      rejected: events.describe('Refused: the caller was told why'),
      filtered: events.describe('Kept from all destinations by their `integrations`'),
      noDestination: events.describe('Of a source without a destination that is switched on'),
      suppressed: events.describe('Dropped, as their user is deleted'),
      duplicate: events.describe('Accepted, but known already'),
      accepted: events.describe('Taken for delivery'),
      queued: events.describe('Accepted, and still in the inbox'),
      delivering: deliveries.describe('Deliveries at their first attempts; null while Temporal does not answer'),
      retrying: deliveries.describe('Deliveries between attempts; null while Temporal does not answer'),
      held: deliveries.describe('Deliveries that wait for a paused destination; null while Temporal does not answer'),
      delivered: deliveries.describe('Deliveries that all destinations took; null while Temporal does not answer'),
      partly_delivered: deliveries.describe(
        'Deliveries that some destinations took, and others never will; null while Temporal does not answer',
      ),
      failed: deliveries.describe('Deliveries that no destination took; null while Temporal does not answer'),
      discarded: deliveries.describe(
        'Deliveries whose destinations were switched off or deleted; null while Temporal does not answer',
      ),
      cancelled: deliveries.describe('Deliveries that an operator stopped; null while Temporal does not answer'),
    })
    .describe('How many events came to what'),
  rejectedReasons: z
    .array(
      z.object({
        reason: z.string().describe('Code of the error, as in `id_required`'),
        events: events.describe('Events that were refused for it'),
      }),
    )
    .describe('How many events were refused for which reason, the most frequent first'),
  series: z
    .array(
      z.object({
        at: z.iso.datetime().describe('Beginning of the step, ISO 8601'),
        received: events.describe('Events that came to the door in the step'),
        accepted: events.describe('Events that were taken in the step'),
        rejected: events.describe('Events that were refused in the step'),
        delivered: events.describe('Requests to endpoints that succeeded in the step'),
        failed: events.describe('Requests to endpoints that failed in the step'),
      }),
    )
    .describe('At most 125 equal steps; `delivered` and `failed` count requests to endpoints'),
  latency: PercentilesSchema.describe(
    'From the moment when an event was accepted to its success at an endpoint: the inbox, retries and pauses included',
  ),
  attemptDuration: PercentilesSchema.describe('What the attempts that succeeded took alone'),
  failingEndpoints: z
    .array(
      z.object({
        destinationId: z.string().describe('Id of the destination'),
        endpointId: z.string().describe('Id of the endpoint'),
        url: z.string().describe('Where its requests go'),
        reason: z.string().describe('Why its latest attempt failed, in words'),
        isFinal: z
          .boolean()
          .describe('Whether that failure is final: an event that fails so is not tried again at this endpoint'),
        since: z.iso.datetime().describe('Since when its attempts fail, ISO 8601'),
        failed: events.describe('Attempts of events at it that failed in the range; the calls of syncs are not in it'),
      }),
    )
    .describe('Endpoints whose latest attempt, or call of a sync, failed'),
  inboxDepth: events.describe('Events that wait for their delivery to start'),
})
export type Overview = z.infer<typeof OverviewSchema>
