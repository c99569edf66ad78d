/** Destinations that the program pauses while every endpoint fails, and resumes when one answers. */

import { setPaused } from './change-destination.ts'
import type { Database, Queryable } from './database.ts'
import { requestRecheck } from './destination-rechecks.ts'
import { writeAuditEntry } from './audit-log.ts'
import { raiseSettingsVersion } from './settings-version.ts'

/** Who did it, in the audit log. */
const actor = 'postrider'

/** SQL: paused by the program. */
const isHeld = 'd.held_at = d.paused_at'

/** SQL: since when every endpoint fails, as attempts since it was resumed have shown; null where one works. */
const failingSince = `(
  select case when bool_and(h.failing_since is not null and (d.resumed_at is null or h.observed_at > d.resumed_at))
    then greatest(max(h.failing_since), d.resumed_at) end
  from endpoints e left join endpoint_health h on h.endpoint_id = e.id where e.destination_id = d.id)`

/** SQL: it is to be held now. */
const isDue = `d.on_failing = 'hold' and d.enabled and d.paused_at is null
  and ${failingSince} <= now() - make_interval(secs => d.hold_after_seconds)`

/** Ids of some destinations that are held or are to be: each call answers others. */
export async function destinationsToKeepHeld(database: Database, limit: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select id from destinations d where ${isHeld} or (${isDue}) order by random() limit $1`,
    [limit],
  )
  return rows.map(({ id }) => id)
}

/** How many are held. */
export async function countHeld(database: Queryable): Promise<number> {
  const [row] = await database.query<{ count: string }>(`select count(*) as count from destinations d where ${isHeld}`)
  return Number(row?.count ?? 0)
}

/** Pauses a destination that has failed for long enough; one that is held stays so.
 *  @returns whether it is held now */
export async function beginHold(database: Database, id: string): Promise<boolean> {
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    const [held] = await tx.query<{ name: string; failing_since: Date }>(
      `with due as (select d.id, ${failingSince} as failing_since from destinations d where d.id = $1 and ${isDue}),
         moment as (select clock_timestamp() as at)
       update destinations d set paused_at = moment.at, held_at = moment.at, held_failing_since = due.failing_since
       from due, moment where d.id = due.id returning d.name, due.failing_since`,
      [id],
    )
    if (held === undefined) return readIsHeld(tx, id)
    const { name, failing_since } = held
    await note(tx, 'hold', id, { name, held: false }, { name, held: true, failingSince: failing_since.toISOString() })
    return true
  })
}

/** Resumes a destination, and has those that wait for it told.
 *  @param answered  id of the endpoint that answered
 *  @returns whether it was held until now */
export async function endHold(database: Database, id: string, answered: string): Promise<boolean> {
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    const [held] = await tx.query<{ name: string }>(
      `select name from destinations d where id = $1 and ${isHeld} for update`,
      [id],
    )
    if (held === undefined) return false
    await resume(tx, id)
    await noteAnswer(tx, answered)
    await note(tx, 'resume', id, { ...held, held: true }, { ...held, held: false, answered })
    return true
  })
}

/** Within the change of a destination: a hold that its settings do not ask for any more is over. */
export async function endUnwantedHold(tx: Queryable, id: string): Promise<void> {
  const rows = await tx.query(
    `select id from destinations d where id = $1 and ${isHeld} and (on_failing <> 'hold' or not enabled)`,
    [id],
  )
  if (rows.length > 0) await resume(tx, id)
}

async function readIsHeld(tx: Queryable, id: string): Promise<boolean> {
  const rows = await tx.query(`select id from destinations d where id = $1 and ${isHeld}`, [id])
  return rows.length > 0
}

async function resume(tx: Queryable, id: string): Promise<void> {
  await setPaused(tx, id, false)
  await requestRecheck(tx, id)
}

/** The probe was an attempt: what failed before it tells nothing any more. */
const noteAnswer = (tx: Queryable, endpointId: string): Promise<unknown> =>
  tx.query(
    `update endpoint_health set failing_since = null, reason = null, observed_at = greatest(observed_at, now()),
       succeeded_at = greatest(observed_at, now()) where endpoint_id = $1`,
    [endpointId],
  )

const note = (tx: Queryable, verb: 'hold' | 'resume', id: string, before: object, after: object): Promise<void> =>
  writeAuditEntry(tx, { actor, action: `destinations.${verb}`, subject: `destinations/${id}`, before }, after)
