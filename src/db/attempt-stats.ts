/** What attempts at endpoints came to, per minute, and how each endpoint does now. */

import type { Queryable } from './database.ts'

/** Attempts at one endpoint within one minute. */
export interface AttemptMinute {
  minute: Date
  endpointId: string
  destinationId: string
  delivered: number
  failed: number
  /** Deliveries per bucket of latency. */
  latency: number[]
  /** The same attempts per bucket of the time that each took alone. */
  durations: number[]
  /** Of the deliveries of `latency`, those that have a finer bucket, per such bucket; empty: none. */
  slowLatency: number[]
}

/** Columns that count per bucket. */
type Histogram = 'latency' | 'durations' | 'slow_latency'

/** The latest attempt at an endpoint. */
export interface EndpointHealth {
  endpointId: string
  destinationId: string
  observedAt: Date
  /** Since when its attempts fail; null when the latest one succeeded. */
  failingSince: Date | null
  reason: string | null
  /** Whether the latest attempt failed for good: another one would end the same way. */
  isFinal: boolean
}

/** What a node saw of an endpoint since it wrote last. */
export interface EndpointSighting extends EndpointHealth {
  /** When its newest success ended; null when none was seen. */
  succeededAt: Date | null
}

/** Adds to the counts in one statement; each minute of an endpoint at most once in `minutes`. */
export async function addAttemptMinutes(database: Queryable, minutes: readonly AttemptMinute[]): Promise<void> {
  await database.query(
    `insert into attempt_stats (minute, endpoint_id, destination_id, delivered, failed, latency, durations, slow_latency)
     select minute, endpoint_id, destination_id, delivered, failed, string_to_array(latency, ',')::bigint[],
       string_to_array(durations, ',')::bigint[], string_to_array(nullif(slow_latency, ''), ',')::bigint[]
     from unnest($1::timestamptz[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[])
       as added(minute, endpoint_id, destination_id, delivered, failed, latency, durations, slow_latency)
     on conflict (minute, endpoint_id) do update set
       delivered = attempt_stats.delivered + excluded.delivered,
       failed = attempt_stats.failed + excluded.failed,
       latency = ${sumOfBuckets('latency')},
       durations = ${sumOfBuckets('durations')},
       slow_latency = ${sumOfBuckets('slow_latency')}`,
    [
      minutes.map(({ minute }) => minute),
      minutes.map(({ endpointId }) => endpointId),
      minutes.map(({ destinationId }) => destinationId),
      minutes.map(({ delivered }) => delivered),
      minutes.map(({ failed }) => failed),
      minutes.map(({ latency }) => latency.join(',')),
      minutes.map(({ durations }) => durations.join(',')),
      minutes.map(({ slowLatency }) => slowLatency.join(',')),
    ],
  )
}

/** One of the two may have no buckets: the sum are those of the other. */
const sumOfBuckets = (column: Histogram): string =>
  `(select array_agg(coalesce(a, 0) + coalesce(b, 0) order by position)
    from unnest(attempt_stats.${column}, excluded.${column}) with ordinality as bucket(a, b, position))`

/** Adds to what is known of endpoints, whichever node tells first: an endpoint fails since the first failure after its newest
 *  success, whoever saw them. */
export async function writeEndpointHealth(database: Queryable, health: readonly EndpointSighting[]): Promise<void> {
  await database.query(
    `insert into endpoint_health (endpoint_id, destination_id, observed_at, failing_since, reason, succeeded_at, final_at)
     select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::timestamptz[],
       $7::timestamptz[])
     -- Nodes that tell of the same endpoints take the rows in the same order, and never wait for each other in a circle.
       order by 1
     on conflict (endpoint_id) do update set
       destination_id = excluded.destination_id,
       observed_at = greatest(endpoint_health.observed_at, excluded.observed_at),
       failing_since = case when ${newestSuccess} < ${newest} or ${newestSuccess} is null then
         least(${ofThisRun('endpoint_health')}, ${ofThisRun('excluded')}, ${newest}) end,
       reason = case when excluded.observed_at >= endpoint_health.observed_at
         then excluded.reason else endpoint_health.reason end,
       succeeded_at = ${newestSuccess},
       final_at = greatest(endpoint_health.final_at, excluded.final_at)`,
    [
      health.map(({ endpointId }) => endpointId),
      health.map(({ destinationId }) => destinationId),
      health.map(({ observedAt }) => observedAt),
      health.map(({ failingSince }) => failingSince),
      health.map(({ reason }) => reason),
      health.map(({ succeededAt }) => succeededAt),
      health.map(({ isFinal, observedAt }) => (isFinal ? observedAt : null)),
    ],
  )
}

/** SQL of the newest attempt, and of the newest success, of what is known and what is told; nulls do not count. */
const newest = 'greatest(endpoint_health.observed_at, excluded.observed_at)'
const newestSuccess = 'greatest(endpoint_health.succeeded_at, excluded.succeeded_at)'

/** SQL of the beginning of a run of failures; null when a success has ended it. */
const ofThisRun = (row: 'endpoint_health' | 'excluded'): string =>
  `case when ${newestSuccess} is null or ${row}.failing_since > ${newestSuccess} then ${row}.failing_since end`

/** Forgets minutes before `before`, and endpoints that had no attempt since. */
export async function removeOldAttemptStats(database: Queryable, before: Date): Promise<void> {
  await database.query('delete from attempt_stats where minute < $1', [before])
  await database.query('delete from endpoint_health where observed_at < $1', [before])
}

export interface AttemptRange {
  since: Date
  until: Date
  /** Ids of the destinations that count; undefined: all. */
  destinationIds: string[] | undefined
}

export interface AttemptStep {
  at: Date
  delivered: number
  failed: number
}

const inRange = `minute >= $1 and minute < $2 and ($3::text[] is null or destination_id = any($3))`

/** Counts attempts in equal steps.
 *  @param stepMs  length of a step, in milliseconds; the first one begins at `since` */
export async function countAttemptsPerStep(
  database: Queryable,
  { since, until, destinationIds }: AttemptRange,
  stepMs: number,
): Promise<AttemptStep[]> {
  const rows = await database.query<{ at: Date; delivered: string; failed: string }>(
    `select date_bin(make_interval(secs => $4 / 1000.0), minute, $1) as at,
       sum(delivered) as delivered, sum(failed) as failed
     from attempt_stats where ${inRange} group by at`,
    [since, until, destinationIds ?? null, stepMs],
  )
  return rows.map(({ at, delivered, failed }) => ({ at, delivered: Number(delivered), failed: Number(failed) }))
}

/** Deliveries per bucket of the histogram. */
export async function sumBuckets(
  database: Queryable,
  histogram: Histogram,
  { since, until, destinationIds }: AttemptRange,
): Promise<number[]> {
  const rows = await database.query<{ deliveries: string }>(
    `select sum(n) as deliveries from attempt_stats, unnest(${histogram}) with ordinality as bucket(n, position)
     where ${inRange} group by position order by position`,
    [since, until, destinationIds ?? null],
  )
  return rows.map(({ deliveries }) => Number(deliveries))
}

/** An endpoint whose latest attempt failed. */
export interface FailingEndpoint extends EndpointHealth {
  /** Attempts that failed in the range. */
  failed: number
}

/** Endpoints whose latest attempt failed, the one first that has failed for the shortest time: it is news. */
export async function listFailingEndpoints(
  database: Queryable,
  { since, until, destinationIds }: AttemptRange,
  limit: number,
): Promise<FailingEndpoint[]> {
  const rows = await database.query<EndpointHealth & { failed: string }>(
    `select endpoint_id as "endpointId", destination_id as "destinationId", observed_at as "observedAt",
       failing_since as "failingSince", reason, coalesce(final_at = observed_at, false) as "isFinal",
       (select coalesce(sum(failed), 0) from attempt_stats s
        where s.endpoint_id = h.endpoint_id and minute >= $1 and minute < $2) as failed
     from endpoint_health h
     where failing_since is not null and ($3::text[] is null or destination_id = any($3))
     order by failing_since desc, endpoint_id limit $4`,
    [since, until, destinationIds ?? null, limit],
  )
  return rows.map(({ failed, ...health }) => ({ ...health, failed: Number(failed) }))
}

export async function wasAnyDelivered(database: Queryable): Promise<boolean> {
  return (await database.query('select 1 from attempt_stats where delivered > 0 limit 1')).length > 0
}
