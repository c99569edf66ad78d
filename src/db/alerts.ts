/** Alerts: opened and closed by what stands in the database, so that all nodes judge alike; with their history. */

import type { AlertChange, TellAlertInput } from '../contracts/alerts.ts'
import { AppError } from '../errors.ts'
import type { Alert } from '../schemas/alert.ts'
import type { Database, Queryable } from './database.ts'
import { pageOf, positionSql, startOfPage, type Page, type PageRequest } from './page.ts'
import { isAttempted, wrongNow } from './wrong-now.ts'

/** Most alerts that are kept when they are over, and most that a look opens. */
const keptAlerts = 1_000
const openedTogether = 100

interface AlertRow extends Record<string, unknown> {
  id: string
  kind: Alert['kind']
  subject: string
  name: string
  reason: string
  path: string
  created_at: Date
  closed_at: Date | null
  closed_reason: string | null
  muted_until: Date | null
}

/** SQL: why an alert `a` is over although nothing was mended; null where it was. */
const unmended = `case
  when a.kind like 'endpoint%' or a.kind = 'destination_held' then (
    select case
      when d.id is null then 'it was removed'
      when not d.enabled then whose.name || ' was switched off'
      when (${isAttempted}) is not true then whose.name || ' was paused'
      -- Nothing is known of what it was at its URL of before: an endpoint that works again has had a success.
      when a.kind in ('endpoint_failing', 'endpoint_down') and h.succeeded_at is null then 'its URL was changed' end
    from (select case a.kind when 'destination_held' then 'it' else 'its destination' end as name) as whose
      left join endpoints e on e.id = a.subject
      left join endpoint_health h on h.endpoint_id = e.id
      left join destinations d on d.id = coalesce(e.destination_id, a.subject))
  when a.kind like 'sync%' and not exists (select from audiences where id = a.subject and deleted_at is null)
    then 'it was removed' end`

/** Opens and closes alerts. Any number of nodes may do so side by side. An audience of another size is no state that ends: of that
 *  nothing is told. */
export async function judgeAlerts(database: Database): Promise<void> {
  await database.query(
    `with wrong as materialized (${wrongNow('alert_rules')}), over as (
       update alerts a set closed_at = clock_timestamp(), closed_reason = ${unmended},
         closing_handed = closing_handed or kind = 'audience_resized'
       where closed_at is null and not exists (
         select from wrong w where w.kind = a.kind and w.subject = a.subject and w.occasion = a.occasion)
     )
     insert into alerts (id, kind, subject, name, reason, path, occasion, muted_until)
     select 'alert_' || replace(gen_random_uuid()::text, '-', ''), kind, subject, name, reason, path, occasion,
       (select max(muted_until) from alerts b where b.kind = w.kind and b.subject = w.subject and muted_until > now())
     from wrong w
     where not exists (select from alerts b where b.closed_at is null and b.kind = w.kind and b.subject = w.subject)
     limit ${openedTogether}
     on conflict do nothing`,
  )
}

/** Removes alerts beyond the newest that are kept. */
export async function removeOldAlerts(database: Database): Promise<void> {
  await database.query(
    `delete from alerts where closed_at is not null and closing_handed and created_at < (
       select created_at from alerts order by created_at desc, id desc offset ${keptAlerts - 1} limit 1)`,
  )
}

/** Changes of which nobody was told yet, oldest first. */
export async function changesToTell(database: Database, limit: number): Promise<TellAlertInput[]> {
  const rows = await database.query<{ id: string; change: AlertChange }>(
    `select id, change from (
       select id, 'opened' as change, created_at as at from alerts where not opening_handed
       union all
       select id, 'closed', closed_at from alerts where closed_at is not null and not closing_handed
     ) as changes order by at limit $1`,
    [limit],
  )
  return rows.map(({ id, change }) => ({ alertId: id, change }))
}

export async function markHanded(database: Database, { alertId, change }: TellAlertInput): Promise<void> {
  const column = change === 'opened' ? 'opening_handed' : 'closing_handed'
  await database.query(`update alerts set ${column} = true where id = $1`, [alertId])
}

/** Newest first. */
export async function listAlerts(database: Queryable, request: PageRequest): Promise<Page<Alert>> {
  const start = request.cursor === undefined ? undefined : startOfPage(request)
  const rows = await database.query<AlertRow & { position: string }>(
    `select *, ${positionSql} from alerts
     where $1::timestamptz is null or (created_at, id) < ($1::timestamptz, $2)
     order by created_at desc, id desc limit $3`,
    [start?.created_at ?? null, start?.id ?? null, request.limit + 1],
  )
  return pageOf(rows, request, toAlert)
}

/** @throws AppError not_found */
export async function getAlert(database: Queryable, id: string): Promise<Alert> {
  const [row] = await database.query<AlertRow>('select * from alerts where id = $1', [id])
  if (row === undefined) throw notFound(id)
  return toAlert(row)
}

/** @throws AppError not_found */
export async function muteAlert(database: Queryable, id: string, seconds: number): Promise<Alert> {
  const [row] = await database.query<AlertRow>(
    `update alerts set muted_until = case when $2 > 0 then now() + make_interval(secs => $2) end
     where id = $1 returning *`,
    [id, seconds],
  )
  if (row === undefined) throw notFound(id)
  return toAlert(row)
}

/** How many are open. */
export async function countOpenAlerts(database: Queryable): Promise<number> {
  const [row] = await database.query<{ count: string }>('select count(*) as count from alerts where closed_at is null')
  return Number(row?.count ?? 0)
}

const toAlert = (row: AlertRow): Alert => ({
  id: row.id,
  kind: row.kind,
  subject: row.subject,
  name: row.name,
  reason: row.reason,
  path: row.path,
  openedAt: row.created_at.toISOString(),
  closedAt: row.closed_at?.toISOString() ?? null,
  closedReason: row.closed_reason,
  mutedUntil: row.muted_until !== null && row.muted_until > new Date() ? row.muted_until.toISOString() : null,
})

const notFound = (id: string): AppError => new AppError('not_found', `no alert has the id ${id}`)
