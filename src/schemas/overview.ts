/** What came in and what became of it. */

import { z } from 'zod'

const time = z.iso.datetime({ offset: true })

/** The range and what of it: at most 31 days, in whole minutes; of all sources and destinations unless given. */
export const OverviewQuerySchema = z.strictObject({
  /** Beginning of the range; a day before its end unless given. */
  since: time.optional(),
  /** End of the range; now unless given. */
  until: time.optional(),
  sourceId: z.string().max(255).optional(),
  destinationId: z.string().max(255).optional(),
})
export type OverviewQuery = z.infer<typeof OverviewQuerySchema>

const events = z.int().min(0)
/** Null while Temporal does not answer. */
const deliveries = events.nullable()

/** In milliseconds; null where nothing succeeded. */
const PercentilesSchema = z.object({ p50Ms: z.number().nullable(), p95Ms: z.number().nullable() })

/** What came in during the range, what became of it, and how the endpoints do. */
export const OverviewSchema = z.object({
  funnel: z.object({
    /** Everything that came to the door, in any form. */
    received: events,
    rejected: events,
    filtered: events,
    noDestination: events,
    suppressed: events,
    /** Accepted, but known already. */
    duplicate: events,
    accepted: events,
    queued: events,
    delivering: deliveries,
    retrying: deliveries,
    held: deliveries,
    delivered: deliveries,
    partly_delivered: deliveries,
    failed: deliveries,
    discarded: deliveries,
    cancelled: deliveries,
  }),
  rejectedReasons: z.array(z.object({ reason: z.string(), events })),
  /** At most 125 equal steps; `delivered` and `failed` count requests to endpoints. */
  series: z.array(
    z.object({
      at: z.iso.datetime(),
      received: events,
      accepted: events,
      rejected: events,
      delivered: events,
      failed: events,
    }),
  ),
  /** From the moment when an event was accepted to its success at an endpoint: the inbox, retries and pauses included. */
  latency: PercentilesSchema,
  /** What the attempts that succeeded took alone. */
  attemptDuration: PercentilesSchema,
  /** Endpoints whose latest attempt failed. */
  failingEndpoints: z.array(
    z.object({
      destinationId: z.string(),
      endpointId: z.string(),
      url: z.string(),
      reason: z.string(),
      since: z.iso.datetime(),
      /** Attempts at it that failed in the range. */
      failed: events,
    }),
  ),
  /** Events that wait for their delivery to start. */
  inboxDepth: events,
})
export type Overview = z.infer<typeof OverviewSchema>
