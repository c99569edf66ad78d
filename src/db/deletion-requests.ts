/** Deletion requests, and the users that are still to be done; these are forgotten as they are done. */

import { AppError } from '../errors.ts'
import type { DeletionRequest } from '../schemas/deletion-request.ts'
import type { Database, Queryable } from './database.ts'
import { noteDeleted } from './deleted-users.ts'
import { pageOf, positionSql, startOfPage, type Page, type PageRequest } from './page.ts'
import { eraseCarried } from './parcel-erasure.ts'
import { addSuppressed } from './suppressed-users.ts'
import { leaveLinesOf } from './user-lines.ts'

export interface NewStoredDeletionRequest {
  id: string
  /** Ids of the users, each once. */
  userIds: readonly string[]
  /** The sources that were asked for; undefined: all. */
  scope: readonly string[] | undefined
  /** Sources whose destinations are notified. */
  sourceIds: readonly string[]
  suppress: boolean
  createdAt: Date
}

/** A request as its activity needs it. */
export interface OpenDeletionRequest {
  id: string
  scope: string[] | null
  sourceIds: string[]
  createdAt: Date
  /** Deliveries that had begun by then are called off; null before the queue is cleared. */
  clearedAt: Date | null
}

/** A user of a request who is still to be done. */
export interface UserToDelete {
  position: number
  userId: string
}

interface RequestRow {
  id: string
  status: DeletionRequest['status']
  suppress: boolean
  scope: string[] | null
  source_ids: string[]
  users: number
  notifications: number
  started: number
  skipped: number
  cancelled: number
  keys: number
  deliveries: number
  created_at: Date
  cleared_at: Date | null
  ended_at: Date | null
  erased_at: Date | null
}

const columns = `id, status, suppress, scope, source_ids, users, notifications, started, skipped, cancelled, keys,
  deliveries, created_at, cleared_at, ended_at, erased_at`

const toRequest = (row: RequestRow): DeletionRequest => ({
  id: row.id,
  status: row.status,
  createdAt: row.created_at.toISOString(),
  endedAt: row.ended_at?.toISOString() ?? null,
  erasedAt: row.erased_at?.toISOString() ?? null,
  suppress: row.suppress,
  users: row.users,
  sourceIds: row.source_ids,
  notifications: row.notifications,
  started: row.started,
  skipped: row.skipped,
  cancelled: row.cancelled,
  deliveries: row.deliveries,
  keys: row.keys,
})

/** Stores a request with its users, suppresses them when it asks for it, and removes their queued events. */
export async function createDeletionRequest(
  database: Database,
  { id, userIds, scope, sourceIds, suppress, createdAt }: NewStoredDeletionRequest,
): Promise<void> {
  // The inbox has no index by user, and may be long.
  await database.patient.transaction(async (tx) => {
    await tx.query(
      `insert into deletion_requests (id, suppress, scope, source_ids, users, notifications, created_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [
        id,
        suppress,
        scope === undefined ? null : [...scope],
        [...sourceIds],
        userIds.length,
        userIds.length * sourceIds.length,
        createdAt,
      ],
    )
    await tx.query(
      `insert into deletion_request_users (request_id, position, user_id)
       select $1, position, user_id from unnest($2::text[]) with ordinality as u(user_id, position)`,
      [id, [...userIds]],
    )
    await noteDeleted(tx, scope ?? null, userIds, createdAt)
    if (suppress) await addSuppressed(tx, scope ?? null, userIds)
    await removeQueuedEvents(tx, id)
  })
}

/** Events in the inbox that came from the request's users before it was made, from the sources that it is about. */
const queuedEvents = `
  from inbox i, deletion_request_users u, deletion_requests r
  where r.id = $1 and u.request_id = r.id and i.user_id = u.user_id and i.received_at <= r.created_at
    and (r.scope is null or i.source_id = any(r.scope))`

/** Removes what is kept of the users' events that became no delivery. */
async function removeTurnedAway(database: Queryable, requestId: string): Promise<void> {
  await database.query(
    `delete from turned_away t using deletion_request_users u, deletion_requests r
     where r.id = $1 and u.request_id = r.id and t.user_id = left(u.user_id, 255) and t.at <= r.created_at
       and (r.scope is null or t.source_id = any(r.scope))`,
    [requestId],
  )
}

/** Removes queued events of the request's users, and events of theirs that became no delivery; those that a node is about to start stay.
 *  @returns whether some stayed */
export async function removeQueuedEvents(database: Queryable, requestId: string): Promise<boolean> {
  await database.query(
    `with removed as (
       delete from inbox i using (select i.seq ${queuedEvents}
         and (i.leased_until is null or i.leased_until < now()) for update of i skip locked) gone
       where i.seq = gone.seq returning i.seq),
     placeless as (${leaveLinesOf('removed')})
     update deletion_requests set cancelled = cancelled + (select count(*) from removed) where id = $1`,
    [requestId],
  )
  await removeTurnedAway(database, requestId)
  const [row] = await database.query<{ some: boolean }>(`select exists (select 1 ${queuedEvents}) as some`, [requestId])
  return row?.some === true
}

export async function listDeletionRequests(database: Queryable, request: PageRequest): Promise<Page<DeletionRequest>> {
  const start = startOfPage(request)
  const rows = await database.query<RequestRow & { position: string }>(
    `select ${columns}, ${positionSql} from deletion_requests
     where (created_at, id) > ($1::timestamptz, $2) order by created_at, id limit $3`,
    [start.created_at, start.id, request.limit + 1],
  )
  return pageOf(rows, request, toRequest)
}

/** @throws AppError not_found */
export async function getDeletionRequest(database: Queryable, id: string): Promise<DeletionRequest> {
  const [row] = await database.query<RequestRow>(`select ${columns} from deletion_requests where id = $1`, [id])
  if (row === undefined) throw new AppError('not_found', `no deletion request has the id ${id}`)
  return toRequest(row)
}

/** Requests that no workflow carries out yet, oldest first. */
export async function waitingDeletionRequests(database: Queryable, limit: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select id from deletion_requests where status = 'waiting' order by created_at limit $1`,
    [limit],
  )
  return rows.map(({ id }) => id)
}

export async function markDeletionRunning(database: Queryable, id: string): Promise<void> {
  await database.query(`update deletion_requests set status = 'running' where id = $1 and status = 'waiting'`, [id])
}

/** Notes when the queued events were gone; a second call changes nothing.
 *  @returns the moment that was noted first */
export async function markQueueCleared(database: Queryable, id: string, at: Date): Promise<Date> {
  const [row] = await database.query<{ cleared_at: Date }>(
    'update deletion_requests set cleared_at = coalesce(cleared_at, $2) where id = $1 returning cleared_at',
    [id, at],
  )
  return row?.cleared_at ?? at
}

/** The request with this id, as its activity needs it; undefined when there is none. */
export async function openDeletionRequest(database: Queryable, id: string): Promise<OpenDeletionRequest | undefined> {
  const [row] = await database.query<RequestRow>(`select ${columns} from deletion_requests where id = $1`, [id])
  return (
    row && {
      id,
      scope: row.scope,
      sourceIds: row.source_ids,
      createdAt: row.created_at,
      clearedAt: row.cleared_at,
    }
  )
}

/** The next users to be done behind a position (counted from 1), `limit` at most. */
export async function usersToDelete(
  database: Queryable,
  requestId: string,
  after: number,
  limit: number,
): Promise<UserToDelete[]> {
  return database.query(
    `select position, user_id as "userId" from deletion_request_users
     where request_id = $1 and position > $2 order by position limit $3`,
    [requestId, after, limit],
  )
}

/** What came of some users. */
export interface DeletionCounts {
  started: number
  skipped: number
  cancelled: number
  /** Deliveries of theirs in workflows of their own. */
  deliveries: number
}

/** Forgets users that are done, also where parcels name them, and counts what came of them, all or nothing.
 *  @param calledOff  until when what began was called off */
export async function finishUsers(
  database: Database,
  { id, scope, createdAt }: Pick<OpenDeletionRequest, 'id' | 'scope' | 'createdAt'>,
  users: readonly UserToDelete[],
  { started, skipped, cancelled, deliveries }: DeletionCounts,
  calledOff: Date,
): Promise<void> {
  const userIds = users.map(({ userId }) => userId)
  await database.transaction(async (tx) => {
    await noteDeleted(tx, scope, userIds, calledOff)
    const carried = await eraseCarried(tx, { scope, userIds, before: createdAt })
    await tx.query(
      `with done as (delete from deletion_request_users where request_id = $1 and position = any($2::integer[]))
       update deletion_requests
       set started = started + $3, skipped = skipped + $4, cancelled = cancelled + $5, deliveries = deliveries + $6
       where id = $1`,
      [id, users.map(({ position }) => position), started, skipped, cancelled, deliveries + carried],
    )
  })
}

export async function markDeletionCompleted(database: Queryable, id: string): Promise<void> {
  await database.query(`update deletion_requests set status = 'completed', ended_at = now() where id = $1`, [id])
}

export async function markErased(database: Queryable, id: string): Promise<void> {
  await database.query('update deletion_requests set erased_at = coalesce(erased_at, now()) where id = $1', [id])
}
