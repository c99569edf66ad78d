/** The audit log: written before a change and completed after it, so that none goes without a trace. */

import type { AuditEntry, AuditFilter, AuditOutcome } from '../schemas/audit.ts'
import type { Queryable } from './database.ts'
import { notOfThisList, type Page, type PageRequest } from './page.ts'

/** How long entries are kept, and how many of them. */
const keepDays = 365
const keepEntries = 100_000

/** How many refused sign-ins are kept: whoever guesses must not push the changes out. */
const keepRefused = 1_000

/** Longest JSON of one side of a change, in characters; a longer one is left out and says so. */
export const maxStateLength = 32_768

export interface NewAuditEntry {
  actor: string
  action: string
  subject: string
  before: unknown
}

interface AuditRow extends Omit<AuditEntry, 'at'> {
  at: Date
}

/** Writes that a change begins.
 *  @returns the entry's id */
export async function beginAuditEntry(database: Queryable, entry: NewAuditEntry): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    `insert into audit_log (actor, action, subject, outcome, before) values ($1, $2, $3, 'unknown', $4) returning id`,
    [entry.actor, entry.action, entry.subject, stateJson(entry.before)],
  )
  return row?.id ?? ''
}

export async function finishAuditEntry(
  database: Queryable,
  id: string,
  { outcome, subject, after }: { outcome: AuditOutcome; subject: string; after: unknown },
): Promise<void> {
  await database.query('update audit_log set outcome = $2, subject = $3, after = $4 where id = $1', [
    id,
    outcome,
    subject,
    stateJson(after),
  ])
}

/** Writes a change of the program itself, in the transaction of that change. */
export async function writeAuditEntry(tx: Queryable, entry: NewAuditEntry, after: unknown): Promise<void> {
  const id = await beginAuditEntry(tx, entry)
  await finishAuditEntry(tx, id, { outcome: 'done', subject: entry.subject, after })
}

/** Takes an entry back: the change was refused. */
export async function removeAuditEntry(database: Queryable, id: string): Promise<void> {
  await database.query('delete from audit_log where id = $1', [id])
}

export async function removeOldAuditEntries(database: Queryable): Promise<void> {
  await database.query(
    `delete from audit_log where at < now() - make_interval(days => $1)
       or id <= (select id from audit_log where outcome <> 'refused' order by id desc offset $2 limit 1)`,
    [keepDays, keepEntries],
  )
}

/** Writes that sign-ins with wrong tokens were refused.
 *  @param tries  how many there were so far, within a minute */
export async function noteRefusedSignIn(database: Queryable, address: string, tries: number): Promise<void> {
  await database.query(
    `insert into audit_log (actor, action, subject, outcome, after) values ($1, 'session.create', 'session', 'refused', $2)`,
    [address, JSON.stringify({ tries })],
  )
  await database.query(
    `delete from audit_log where outcome = 'refused'
       and id <= (select id from audit_log where outcome = 'refused' order by id desc offset $1 limit 1)`,
    [keepRefused],
  )
}

/** A page of the audit log, newest first.
 *  @throws AppError bad_request when the cursor is not one that a page gave */
export async function listAuditEntries(
  database: Queryable,
  filter: AuditFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<AuditEntry>> {
  if (cursor !== undefined && !/^\d{1,18}$/.test(cursor)) throw notOfThisList()
  const rows = await database.query<AuditRow>(
    `select id, at, actor, action, subject, outcome, before, after from audit_log
     where ($1::bigint is null or id < $1::bigint) and ($3::text is null or actor = $3)
       and ($4::text is null or starts_with(subject, $4)) and ($5::timestamptz is null or at >= $5)
       and ($6::timestamptz is null or at < $6)
     order by id desc limit $2`,
    [
      cursor ?? null,
      limit + 1,
      filter.actor ?? null,
      filter.subject ?? null,
      filter.since ?? null,
      filter.until ?? null,
    ],
  )
  const items = rows.slice(0, limit).map(({ at, ...row }) => ({ ...row, at: at.toISOString() }))
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
}

function stateJson(state: unknown): string | null {
  if (state === undefined || state === null) return null
  const json = JSON.stringify(state)
  return json.length <= maxStateLength ? json : JSON.stringify({ leftOut: `${json.length} characters of JSON` })
}
