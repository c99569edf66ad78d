/** How much sources send and destinations get, and when they did for the last time. */

import type { Activity } from '../schemas/activity.ts'
import type { Queryable } from './database.ts'

/** The figures of a source or destination count this long, and its last event is looked for this far back, in hours. */
const volumeHours = 24
const lastEventHours = 7 * 24

interface SourceRow extends Record<string, unknown> {
  sourceId: string
  received: string | null
  rejected: string | null
  lastEventAt: Date
}

export async function readSourceActivity(database: Queryable): Promise<Activity['sources']> {
  const rows = await database.query<SourceRow>(
    `select source_id as "sourceId", max(minute) as "lastEventAt",
       sum(events) filter (where minute >= now() - make_interval(hours => $1)) as received,
       sum(events) filter (where minute >= now() - make_interval(hours => $1) and fate = 'rejected') as rejected
     from event_fates
     where minute >= now() - make_interval(hours => $2) and source_id <> ''
       and fate in ('accepted', 'rejected', 'filtered', 'no_destination', 'suppressed', 'dropped')
     group by source_id`,
    [volumeHours, lastEventHours],
  )
  return rows.map(({ sourceId, received, rejected, lastEventAt }) => ({
    sourceId,
    received: Number(received ?? 0),
    rejected: Number(rejected ?? 0),
    lastEventAt: lastEventAt.toISOString(),
  }))
}

interface DestinationRow extends Record<string, unknown> {
  destinationId: string
  delivered: string
  failed: string
  lastAttemptAt: Date | null
}

export async function readDestinationActivity(database: Queryable): Promise<Activity['destinations']> {
  const rows = await database.query<DestinationRow>(
    `select destination_id as "destinationId", coalesce(delivered, 0) as delivered, coalesce(failed, 0) as failed,
       greatest(observed, counted) as "lastAttemptAt"
     from (select destination_id, max(observed_at) as observed from endpoint_health group by destination_id) as latest
     -- Counts stay when a URL is corrected, though nothing was observed of the new one yet.
     full join (
       select destination_id, sum(delivered) as delivered, sum(failed) as failed, max(minute) as counted from attempt_stats
       where minute >= now() - make_interval(hours => $1) group by destination_id
     ) as volume using (destination_id)`,
    [volumeHours],
  )
  return rows.map(({ destinationId, delivered, failed, lastAttemptAt }) => ({
    destinationId,
    delivered: Number(delivered),
    failed: Number(failed),
    lastAttemptAt: lastAttemptAt?.toISOString() ?? null,
  }))
}
