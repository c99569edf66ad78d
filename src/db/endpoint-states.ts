/** How endpoints do: what their latest attempts came to, and which of them nodes hold to be down. */

import type { EndpointState } from '../schemas/destination.ts'
import type { Queryable } from './database.ts'

/** An endpoint that a node attempts only now and then, by probes. */
export interface DownEndpoint {
  endpointId: string
  downSince: Date
  /** Null when a probe is due: whatever comes next is the probe. */
  nextProbeAt: Date | null
}

/** What a node said last counts for so long, in seconds: it may have been lost. */
export const countsSeconds = 60

/** Most endpoints that are read together. */
const maxDownRead = 10_000

/** Writes all that a node holds to be down, in place of what it wrote before; forgets nodes that were lost. */
export async function writeDownEndpoints(
  database: Queryable,
  nodeId: string,
  down: readonly DownEndpoint[],
): Promise<void> {
  await database.query(
    `with given as (
       select * from unnest($2::text[], $3::timestamptz[], $4::timestamptz[]) as g(endpoint_id, down_since, next_probe_at)
     ), gone as (
       delete from down_endpoints
       where (node_id = $1 and endpoint_id not in (select endpoint_id from given))
         or seen_at < now() - make_interval(secs => $5)
     )
     insert into down_endpoints (endpoint_id, node_id, down_since, next_probe_at, seen_at)
     select endpoint_id, $1, down_since, next_probe_at, now() from given
     on conflict (endpoint_id, node_id) do update set
       down_since = excluded.down_since, next_probe_at = excluded.next_probe_at, seen_at = excluded.seen_at`,
    [
      nodeId,
      down.map(({ endpointId }) => endpointId),
      down.map(({ downSince }) => downSince),
      down.map(({ nextProbeAt }) => nextProbeAt),
      2 * countsSeconds,
    ],
  )
}

/** Endpoints of which some node says that they are down; of very many, those that are for the longest. */
export async function readDownEndpoints(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ endpoint_id: string }>(
    `select endpoint_id from down_endpoints where seen_at > now() - make_interval(secs => $1)
     group by endpoint_id order by min(down_since) limit $2`,
    [countsSeconds, maxDownRead],
  )
  return rows.map(({ endpoint_id }) => endpoint_id)
}

interface StateRow extends Record<string, unknown> {
  id: string
  observed_at: Date | null
  failing_since: Date | null
  reason: string | null
  nodes: string | null
  down_since: Date | null
  next_probe_at: Date | null
}

/** Of several nodes that hold an endpoint to be down, the next probe of any. It is down since it fails: each node knows only of its
 *  own attempts since its start, so that what all saw comes first. */
export async function readEndpointStates(
  database: Queryable,
  endpointIds: readonly string[],
): Promise<EndpointState[]> {
  const rows = await database.query<StateRow>(
    `select asked.id, observed_at, failing_since, reason, nodes, down_since, next_probe_at
     from unnest($1::text[]) with ordinality as asked(id, position)
     left join endpoint_health on endpoint_id = id
     left join (
       select endpoint_id, count(*) as nodes, min(down_since) as down_since,
         case when bool_and(next_probe_at is not null) then min(next_probe_at) end as next_probe_at
       from down_endpoints where seen_at > now() - make_interval(secs => $2) group by endpoint_id
     ) as down on down.endpoint_id = id
     order by position`,
    [[...endpointIds], countsSeconds],
  )
  return rows.map(toState)
}

const toState = ({ id, observed_at, failing_since, reason, nodes, down_since, next_probe_at }: StateRow) => ({
  id,
  state: stateOf(down_since, failing_since, observed_at),
  lastAttemptAt: isoOrNull(observed_at),
  failingSince: isoOrNull(failing_since),
  // Attempts that ended side by side may leave one behind.
  reason: down_since === null && failing_since === null ? null : reason,
  downSince: isoOrNull(down_since && (failing_since ?? down_since)),
  nextProbeAt: isoOrNull(next_probe_at),
  downOnNodes: Number(nodes ?? 0),
})

function stateOf(downSince: Date | null, failingSince: Date | null, observedAt: Date | null): EndpointState['state'] {
  if (downSince !== null) return 'down'
  if (failingSince !== null) return 'failing'
  return observedAt === null ? 'untried' : 'working'
}

const isoOrNull = (at: Date | null): string | null => at?.toISOString() ?? null
