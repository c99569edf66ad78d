/** Requests that wait for an endpoint to fetch them, sealed; and who fetches those of a destination. Nodes share them: one makes an
 *  attempt, any other hands its request out. */

import type { FetchedRequest } from '../schemas/listen-request.ts'
import type { SecretBox } from '../secrets.ts'
import type { Queryable } from './database.ts'

export interface ListenRequest extends FetchedRequest {
  endpointId: string
  /** How long its attempt waits for an answer, in milliseconds. */
  timeoutMs: number
}

/** Lays one down. */
export async function addListenRequest(
  database: Queryable,
  secrets: SecretBox,
  { id, endpointId, timeoutMs, ...request }: ListenRequest,
): Promise<void> {
  await database.query(
    `insert into listen_requests (id, endpoint_id, request_encrypted, until)
     values ($1, $2, $3, now() + make_interval(secs => $4))`,
    [id, endpointId, secrets.seal(JSON.stringify(request)), timeoutMs / 1_000],
  )
}

/** Which of these destinations have requests to hand out. */
export async function destinationsWithRequests(database: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select distinct destination_id as id from listen_requests join endpoints on endpoints.id = endpoint_id
     where fetched_at is null and until > now() and destination_id = any($1)`,
    [[...ids]],
  )
  return rows.map(({ id }) => id)
}

/** Hands out those that wait for a destination to its listener, oldest first, each once. */
export async function takeListenRequests(
  database: Queryable,
  secrets: SecretBox,
  destinationId: string,
  listener: string,
  most: number,
): Promise<FetchedRequest[]> {
  const rows = await database.query<{ id: string; sealed: string }>(
    `with taken as (
       update listen_requests set fetched_at = now() where id in (
         select id from listen_requests
         where endpoint_id in (select id from endpoints where destination_id = $1) and fetched_at is null and until > now()
           and exists (select from listeners where destination_id = $1 and listener = $2)
         order by created_at limit $3 for update skip locked)
       returning id, request_encrypted as sealed, created_at)
     select id, sealed from taken order by created_at`,
    [destinationId, listener, most],
  )
  return rows.map(({ id, sealed }) => ({
    ...(JSON.parse(secrets.open(sealed)) as Omit<FetchedRequest, 'id'>),
    id,
  }))
}

/** Answers one that was handed out.
 *  @returns whether its attempt waits still, and had no answer before */
export async function answerListenRequest(
  database: Queryable,
  destinationId: string,
  id: string,
  status: number,
): Promise<boolean> {
  const rows = await database.query(
    `update listen_requests set status = $3
     where id = $2 and endpoint_id in (select id from endpoints where destination_id = $1)
       and fetched_at is not null and status is null and until > now() returning id`,
    [destinationId, id, status],
  )
  return rows.length > 0
}

/** Those of these that have an answer. */
export async function answeredListenRequests(database: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'select id from listen_requests where id = any($1) and status is not null',
    [[...ids]],
  )
  return rows.map(({ id }) => id)
}

/** Forgets one whose attempt is over.
 *  @returns the answer, when it has one */
export async function removeListenRequest(database: Queryable, id: string): Promise<number | undefined> {
  const [row] = await database.query<{ status: number | null }>(
    'delete from listen_requests where id = $1 returning status',
    [id],
  )
  return row?.status ?? undefined
}

/** Forgets those that killed nodes left. */
export async function removeLostListenRequests(database: Queryable): Promise<void> {
  await database.query(`delete from listen_requests where until < now() - interval '1 minute'`)
}

/** Makes a listener the one that fetches for a destination, unless another one does.
 *  @param seconds  until others may */
export async function leaseListening(
  database: Queryable,
  destinationId: string,
  listener: string,
  seconds: number,
): Promise<boolean> {
  const rows = await database.query(
    `insert into listeners (destination_id, listener, until)
     select id, $2, now() + make_interval(secs => $3) from destinations where id = $1
     on conflict (destination_id) do update set listener = excluded.listener, until = excluded.until
       where listeners.listener = excluded.listener or listeners.until < now()
     returning destination_id`,
    [destinationId, listener, seconds],
  )
  return rows.length > 0
}

/** Lets others fetch for a destination at once. */
export async function endLease(database: Queryable, destinationId: string, listener: string): Promise<void> {
  await database.query('delete from listeners where destination_id = $1 and listener = $2', [destinationId, listener])
}
