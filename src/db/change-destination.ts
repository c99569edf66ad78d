/** The parts of a destination that are written one by one, each within the transaction of its change. */

import { AppError } from '../errors.ts'
import { newEndpointId } from '../ids.ts'
import type { WebhookInput } from '../schemas/destination.ts'
import { differingOptions } from '../schemas/endpoint-options.ts'
import type { SecretBox } from '../secrets.ts'
import type { Queryable } from './database.ts'
import { matchEndpoints } from './match-endpoints.ts'
import type { EndpointRow } from './stored-destination.ts'

/** @throws AppError bad_request when a source does not exist */
export async function connectSources(tx: Queryable, id: string, sourceIds: string[]): Promise<void> {
  const wanted = [...new Set(sourceIds)]
  const rows = await tx.query<{ id: string }>('select id from sources where id = any($1::text[])', [wanted])
  const known = new Set(rows.map((row) => row.id))
  const missing = sourceIds.findIndex((sourceId) => !known.has(sourceId))
  if (missing !== -1)
    throw new AppError('bad_request', `sourceIds[${missing}]: no source has the id ${String(sourceIds[missing])}`, {
      path: `sourceIds[${missing}]`,
    })
  await tx.query('delete from destination_sources where destination_id = $1', [id])
  await tx.query('insert into destination_sources select $1, unnest($2::text[])', [id, wanted])
}

/** Endpoints that are meant again keep their ids, and their headers and options unless others are given.
 *  @throws AppError bad_request when an entry's id is none of this destination, or stands there twice */
export async function replaceEndpoints(
  tx: Queryable,
  id: string,
  webhooks: WebhookInput[],
  secrets: SecretBox,
): Promise<void> {
  const present = await tx.query<EndpointRow>(
    'select id, url, headers_encrypted, options from endpoints where destination_id = $1 order by position',
    [id],
  )
  const matched = matchEndpoints(webhooks, present)
  const next = webhooks.map((webhook, position) => {
    const before = matched[position]
    if (webhook.id !== undefined && before === undefined) throw wrongEndpointId(webhook.id, position, present)
    return {
      id: before?.id ?? newEndpointId(),
      url: webhook.url,
      headers: keptHeaders(webhook, before) ?? secrets.seal(JSON.stringify(webhook.headers ?? {})),
      options: JSON.stringify(differingOptions({ ...before?.options, ...webhook })),
    }
  })
  await tx.query('delete from endpoints where destination_id = $1', [id])
  await tx.query(
    `insert into endpoints (id, destination_id, position, url, headers_encrypted, options)
     select e.id, $1, e.position, e.url, e.headers, e.options
     from unnest($2::text[], $3::text[], $4::text[], $5::json[]) with ordinality as e(id, url, headers, options, position)`,
    [id, next.map((e) => e.id), next.map((e) => e.url), next.map((e) => e.headers), next.map((e) => e.options)],
  )
  const moved = next.filter(({ id: kept, url }) => present.some((before) => before.id === kept && before.url !== url))
  if (moved.length > 0) await forgetHealth(tx, moved)
}

/** What the attempts at one URL came to says nothing of another. Locks in the order of those who write down attempts; what a node writes of
 *  endpoints that are down just now knows the new URL, or is followed by what does. */
async function forgetHealth(tx: Queryable, moved: readonly { id: string }[]): Promise<void> {
  const ids = moved.map((endpoint) => endpoint.id)
  await tx.query(
    `delete from endpoint_health where endpoint_id in (
       select endpoint_id from endpoint_health where endpoint_id = any($1::text[]) order by endpoint_id for update)`,
    [ids],
  )
  await tx.query(
    `delete from down_endpoints where (endpoint_id, node_id) in (
       select endpoint_id, node_id from down_endpoints where endpoint_id = any($1::text[]) for update skip locked)`,
    [ids],
  )
}

/** @param sealed  the new secret; null for none
 *  @param overlapSeconds  how long the one before signs beside it; 0 for not at all */
export async function replaceSecret(
  tx: Queryable,
  id: string,
  sealed: string | null,
  overlapSeconds: number,
): Promise<void> {
  await tx.query(
    `update destinations set
       previous_secret_encrypted = case when $3 > 0 then shared_secret_encrypted end,
       previous_secret_until = case when $3 > 0 then now() + make_interval(secs => $3) end,
       shared_secret_encrypted = $2
     where id = $1`,
    [id, sealed, overlapSeconds],
  )
}

/** Keeps the time of pauses that are over: deliveries do not count it. A hold becomes the pause of who asks for one. */
export async function setPaused(tx: Queryable, id: string, paused: boolean): Promise<void> {
  await tx.query(
    paused
      ? 'update destinations set paused_at = coalesce(paused_at, clock_timestamp()), held_at = null where id = $1'
      : `update destinations set paused_at = null, held_at = null, resumed_at = clock_timestamp(), paused_total_ms = paused_total_ms +
           coalesce(extract(epoch from clock_timestamp() - paused_at) * 1000, 0)::bigint where id = $1`,
    [id],
  )
}

function wrongEndpointId(id: string, position: number, present: EndpointRow[]): AppError {
  const path = `settings.webhooks[${position}].id`
  const isKnown = present.some((one) => one.id === id)
  return new AppError(
    'bad_request',
    isKnown ? `${path}: ${id} stands here twice` : `${path}: no webhook of this destination has the id ${id}`,
    { path },
  )
}

/** Headers often authenticate: an entry without them keeps those of the endpoint that it names by its id, or that is on
 *  the same origin; another server must not get them unasked.
 *  @returns undefined when it has headers of its own, or begins without any */
function keptHeaders({ id, url, headers }: WebhookInput, before: EndpointRow | undefined): string | undefined {
  if (headers !== undefined || before === undefined) return undefined
  return id !== undefined || new URL(url).origin === new URL(before.url).origin ? before.headers_encrypted : undefined
}
