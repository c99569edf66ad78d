/** The syncs of audiences: those that ran, the one that runs, those that wait. */

import { AppError } from '../errors.ts'
import { newSyncId } from '../ids.ts'
import type { BadRow, Sync, SyncKind, SyncPhase, SyncStatus } from '../schemas/audience.ts'
import type { Database, Queryable } from './database.ts'
import { completeRowSet } from './audiences-staging.ts'
import { notOfThisList, pageOf, type Page, type PageRequest } from './page.ts'

/** A status as the table has it: `waiting`, which the API shows as running without a start, and those of the API. */
type StoredStatus = SyncStatus | 'waiting'

export interface SyncRow {
  id: string
  number: string
  audience_id: string
  kind: SyncKind
  status: StoredStatus
  phase: SyncPhase
  /** Id of its row set: the membership that it brings, or the change; null when it brings none. */
  load: string | null
  etag: string | null
  undo_of: string | null
  undoable: boolean
  /** Whether it told something new that is still what its destinations know. */
  told_news: boolean
  confirmed: boolean
  stop_requested: boolean
  rows_read: string
  bad_rows: string
  bad_row_sample: BadRow[]
  added: string
  removed: string
  unchanged: string
  sent: string
  handed_on: string
  failed: string
  reason: string | null
  requested_at: Date
  started_at: Date | null
  sending_at: Date | null
  ended_at: Date | null
}

export interface SyncRequest {
  audienceId: string
  kind: SyncKind
  /** Id of the staged rows: a membership, or a change. */
  rowSet?: string
  rows?: { rowsRead: number; badRows: number; badRowSample: BadRow[] }
  /** The sync whose changes are taken back. */
  undoOf?: string
  /** Id of the sync, given by a caller that may ask twice; a new one unless given. */
  syncId?: string
}

const toSync = (row: SyncRow): Sync => ({
  id: row.id,
  audienceId: row.audience_id,
  kind: row.kind,
  status: row.status === 'waiting' ? 'running' : row.status,
  phase: row.phase,
  rowsRead: Number(row.rows_read),
  badRows: Number(row.bad_rows),
  badRowSample: row.bad_row_sample,
  added: Number(row.added),
  removed: Number(row.removed),
  unchanged: Number(row.unchanged),
  sent: Number(row.sent),
  handedOn: Number(row.handed_on),
  failed: Number(row.failed),
  rate: rateOf(row),
  requestedAt: row.requested_at.toISOString(),
  startedAt: row.started_at?.toISOString() ?? null,
  endedAt: row.ended_at?.toISOString() ?? null,
  reason: row.reason,
  undoable: reasonNotToUndo(row) === undefined,
  usersKept: row.undoable,
})

/** Why a sync cannot be taken back; undefined when it can. */
export function reasonNotToUndo(sync: SyncRow): string | undefined {
  if (sync.status === 'running' || sync.status === 'waiting') return 'the sync has not ended: stop it'
  if (!sync.told_news || Number(sync.sent) + Number(sync.handed_on) === 0)
    return 'there is nothing to take back: the sync changed nothing, or later ones changed it again'
  return sync.undoable ? undefined : 'the sync is too old to be undone: sync again'
}

function rateOf({ sent, handed_on, failed, sending_at, ended_at }: SyncRow): number {
  if (sending_at === null) return 0
  const seconds = ((ended_at ?? new Date()).getTime() - sending_at.getTime()) / 1000
  return seconds <= 0 ? 0 : Math.round((Number(sent) + Number(handed_on) + Number(failed)) / seconds)
}

/** A page of the syncs of an audience, newest first. */
export async function listSyncs(database: Queryable, audienceId: string, request: PageRequest): Promise<Page<Sync>> {
  const before = request.cursor === undefined ? undefined : Buffer.from(request.cursor, 'base64url').toString()
  const number = before?.split(' ')[0]
  if (number !== undefined && !/^\d{1,18}$/.test(number)) throw notOfThisList()
  const rows = await database.query<SyncRow & { position: string }>(
    `select *, number::text as position from audience_syncs
     where audience_id = $1 and ($2::bigint is null or number < $2) order by number desc limit $3`,
    [audienceId, number ?? null, request.limit + 1],
  )
  return pageOf(rows, request, toSync)
}

/** @throws AppError not_found */
export async function getSync(database: Queryable, audienceId: string, syncId: string): Promise<Sync> {
  return toSync(await readSync(database, audienceId, syncId))
}

/** @throws AppError not_found */
export async function readSync(database: Queryable, audienceId: string, syncId: string): Promise<SyncRow> {
  const [row] = await database.query<SyncRow>('select * from audience_syncs where audience_id = $1 and id = $2', [
    audienceId,
    syncId,
  ])
  if (row === undefined) throw new AppError('not_found', `no sync of this audience has the id ${syncId}`)
  return row
}

/** Puts a sync into the queue. A whole membership replaces every membership, change and plain sync that waits, a change
 *  takes the waiting one into itself, and another kind replaces the waiting one of its kind: at most one of each waits.
 *  @returns its id */
export async function requestSync(database: Database, request: SyncRequest): Promise<string> {
  const { audienceId, kind, rowSet, rows, undoOf, syncId = newSyncId() } = request
  return database.transaction(async (tx) => {
    await tx.query('select 1 from audiences where id = $1 for update', [audienceId])
    const [known] = await tx.query('select 1 from audience_syncs where id = $1', [syncId])
    if (known !== undefined) return syncId
    const waiting = await tx.query<SyncRow>(
      `select * from audience_syncs where audience_id = $1 and status = 'waiting' order by number`,
      [audienceId],
    )
    const superseded = waiting.filter((other) => supersedes(kind, other, waiting))
    if (kind === 'change' && rowSet !== undefined)
      for (const other of superseded) if (other.load !== null) await absorb(tx, other.load, rowSet)
    await tx.query(
      `update audience_syncs set status = 'stopped', phase = 'ended', load = null, ended_at = now(), reason = $2
       where number = any($1::bigint[])`,
      [superseded.map(({ number }) => number), `${kind === 'change' ? 'taken into' : 'replaced by'} ${syncId}`],
    )
    if (rowSet !== undefined) await completeRowSet(tx, rowSet)
    await tx.query(
      `insert into audience_syncs (id, audience_id, kind, status, phase, load, undo_of, rows_read, bad_rows, bad_row_sample)
       values ($1, $2, $3, 'waiting', 'waiting', $4, $5, $6, $7, $8)`,
      [
        syncId,
        audienceId,
        kind,
        rowSet ?? null,
        undoOf ?? null,
        rows?.rowsRead ?? 0,
        rows?.badRows ?? 0,
        JSON.stringify(rows?.badRowSample ?? []),
      ],
    )
    return syncId
  })
}

function supersedes(kind: SyncKind, other: SyncRow, waiting: SyncRow[]): boolean {
  switch (kind) {
    case 'delete':
      return true
    case 'upload':
      return other.kind === 'upload' || other.kind === 'change' || other.kind === 'sync'
    case 'change':
      return other.kind === 'change' && other === waiting.at(-1)
    case 'sync':
    case 'resync':
      return other.kind === kind
    case 'undo':
      return false
  }
}

/** Adds to a change the rows of an earlier one about users that the later one does not name. */
async function absorb(tx: Queryable, from: string, into: string): Promise<void> {
  await tx.query(
    `insert into audience_rows (load, user_id, present, value, traits)
     select $2, user_id, present, value, traits from audience_rows where load = $1 on conflict do nothing`,
    [from, into],
  )
}

/** Takes the sync that runs already (its workflow was lost), or else the next one that waits, which runs from now on; undefined when
 *  there is none. */
export async function takeNextSync(database: Database, audienceId: string): Promise<SyncRow | undefined> {
  const [row] = await database.query<SyncRow>(
    `update audience_syncs set status = 'running', phase = case when phase = 'waiting' then 'loading' else phase end,
       started_at = coalesce(started_at, date_trunc('milliseconds', now())),
       members_before = coalesce(members_before, (select members from audiences where id = $1))
     where number = (select number from audience_syncs where audience_id = $1 and status in ('running', 'waiting')
       order by status, number limit 1)
     returning *`,
    [audienceId],
  )
  return row
}

/** Audiences of which a sync waits and none runs: their workflow may not have been started yet. A workflow that runs takes the syncs
 *  that wait by itself. */
export async function audiencesThatWait(database: Queryable, limit: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select a.id from audiences a join audience_syncs s on s.audience_id = a.id
     where s.status in ('waiting', 'running')
     group by a.id having bool_and(s.status = 'waiting') order by min(s.number) limit $1`,
    [limit],
  )
  return rows.map(({ id }) => id)
}

/** Some audiences whose syncs run: when there are many, each call answers others. */
export async function audiencesThatSync(database: Queryable, limit: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select audience_id as id from audience_syncs where status = 'running' order by random() limit $1`,
    [limit],
  )
  return rows.map(({ id }) => id)
}

export interface SyncUpdate {
  phase?: SyncPhase
  rowSet?: string
  etag?: string
  rows?: { rowsRead: number; badRows: number; badRowSample: BadRow[] }
  counts?: { added: number; removed: number; unchanged: number }
}

export async function updateSync(database: Queryable, number: string, update: SyncUpdate): Promise<void> {
  const { phase, rowSet, etag, rows, counts } = update
  await database.query(
    `update audience_syncs set phase = coalesce($2, phase), load = coalesce($3, load), etag = coalesce($4, etag),
       rows_read = coalesce($5, rows_read), bad_rows = coalesce($6, bad_rows),
       bad_row_sample = coalesce($7::json, bad_row_sample),
       added = coalesce($8, added), removed = coalesce($9, removed), unchanged = coalesce($10, unchanged),
       sending_at = case when $2 = 'sending' then coalesce(sending_at, now()) else sending_at end
     where number = $1`,
    [
      number,
      phase ?? null,
      rowSet ?? null,
      etag ?? null,
      rows?.rowsRead ?? null,
      rows?.badRows ?? null,
      rows === undefined ? null : JSON.stringify(rows.badRowSample),
      counts?.added ?? null,
      counts?.removed ?? null,
      counts?.unchanged ?? null,
    ],
  )
}

/** Ends a running sync; a refused one keeps its membership until it is confirmed or another one is taken over. */
export async function endSync(
  database: Queryable,
  syncId: string,
  status: SyncStatus,
  reason: string | undefined,
): Promise<void> {
  await database.query(
    `update audience_syncs set status = $2, phase = 'ended', ended_at = now(), reason = $3,
       load = case when $2 = 'refused' then load end,
       members_after = (select members from audiences where id = audience_id)
     where id = $1 and status = 'running'`,
    [syncId, status, reason ?? null],
  )
}

/** Lets a refused sync run after all.
 *  @throws AppError not_found; conflict when it is not refused, or another membership was taken over since */
export async function confirmSync(database: Database, audienceId: string, syncId: string): Promise<void> {
  await database.transaction(async (tx) => {
    const sync = await readSync(tx, audienceId, syncId)
    if (sync.status !== 'refused')
      throw new AppError('conflict', `the sync is ${sync.status}: only one that was refused has to be confirmed`)
    const [later] = await tx.query(
      `select 1 from audience_syncs where audience_id = $1 and number > $2 and status <> 'stopped' limit 1`,
      [audienceId, sync.number],
    )
    if (later !== undefined)
      throw new AppError('conflict', 'another sync came after it: confirm that one, or sync again')
    await tx.query(
      `update audience_syncs set status = 'waiting', confirmed = true, reason = null, ended_at = null, started_at = null,
         phase = 'waiting' where number = $1`,
      [sync.number],
    )
  })
}

/** Ends a waiting sync at once, and marks a running one to be stopped.
 *  @throws AppError not_found; conflict when it has ended */
export async function requestStop(database: Queryable, audienceId: string, syncId: string): Promise<void> {
  const { status } = await readSync(database, audienceId, syncId)
  if (status !== 'running' && status !== 'waiting')
    throw new AppError('conflict', `the sync is ${status}: there is nothing to stop any more`)
  await database.query(
    `update audience_syncs set stop_requested = true,
       status = case when status = 'waiting' then 'stopped' else status end,
       phase = case when status = 'waiting' then 'ended' else phase end,
       load = case when status = 'waiting' then null else load end,
       ended_at = case when status = 'waiting' then now() end
     where id = $1 and status in ('running', 'waiting')`,
    [syncId],
  )
}
