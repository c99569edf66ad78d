/** Where alerts go: settings leave this module in clear and are stored sealed. */

import { AppError } from '../errors.ts'
import { newAlertChannelId } from '../ids.ts'
import {
  AlertChannelSettingsSchema,
  maxAlertChannels,
  type AlertChannel,
  type AlertChannelPatch,
  type AlertChannelSettings,
  type AlertChannelView,
  type NewAlertChannel,
} from '../schemas/alert.ts'
import { memberOf } from '../schemas/plain-words.ts'
import type { SecretBox } from '../secrets.ts'
import type { ChangeCheck } from './change-rule.ts'
import type { Database, Queryable } from './database.ts'

/** A channel as alerts need it. */
export interface StoredAlertChannel {
  settings: AlertChannelSettings
  appUrl: string | null
}

/** A channel as it is shown, and all that a change of it can overwrite, secrets too. */
export interface AlertChannelAndContent {
  channel: AlertChannel
  content: Omit<AlertChannelPatch, 'settings'> & { settings: AlertChannelSettings | undefined }
}

interface ChannelRow extends Record<string, unknown> {
  id: string
  name: string
  kind: AlertChannel['kind']
  target: string
  app_url: string | null
  settings_encrypted: string
  last_told_at: Date | null
  last_error: string | null
  created_at: Date
}

/** Longest reason that is kept, in characters. */
const maxErrorLength = 500

/** Any number that no other lock of the database has. */
const creationLock = 7_766_351_096

export async function listAlertChannels(database: Database, secrets: SecretBox): Promise<AlertChannel[]> {
  const rows = await database.query<ChannelRow>('select * from alert_channels order by created_at, id')
  return rows.map((row) => toChannel(row, secrets))
}

/** Ids of all channels. */
export async function alertChannelIds(database: Database): Promise<string[]> {
  const rows = await database.query<{ id: string }>('select id from alert_channels order by created_at, id')
  return rows.map(({ id }) => id)
}

/** @throws AppError not_found */
export async function getAlertChannel(database: Database, secrets: SecretBox, id: string): Promise<AlertChannel> {
  return toChannel(await readRow(database, id), secrets)
}

/** @throws AppError not_found */
export async function readAlertChannel(
  database: Database,
  secrets: SecretBox,
  id: string,
): Promise<AlertChannelAndContent> {
  return withContent(await readRow(database, id), secrets)
}

/** @throws AppError not_found */
export async function openAlertChannel(
  database: Database,
  secrets: SecretBox,
  id: string,
): Promise<StoredAlertChannel> {
  const row = await readRow(database, id)
  return { settings: openSettings(row, secrets), appUrl: row.app_url }
}

/** @throws AppError conflict when there are `maxAlertChannels` */
export async function createAlertChannel(
  database: Database,
  secrets: SecretBox,
  { name, settings, appUrl }: NewAlertChannel,
): Promise<AlertChannel> {
  return database.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [creationLock])
    const [row] = await tx.query<ChannelRow>(
      `insert into alert_channels (id, name, kind, target, app_url, settings_encrypted, created_at)
       select $1, $2, $3, $4, $5, $6, clock_timestamp() where (select count(*) from alert_channels) < $7 returning *`,
      [
        newAlertChannelId(),
        name,
        settings.kind,
        targetOf(settings),
        appUrl ?? null,
        secrets.seal(JSON.stringify(settings)),
        maxAlertChannels,
      ],
    )
    if (row === undefined) throw new AppError('conflict', `there are ${maxAlertChannels} channels: delete one first`)
    return toChannel(row, secrets)
  })
}

/** @throws AppError not_found; bad_request when settings of another kind are not whole; what `check` throws of the content before */
export async function updateAlertChannel(
  database: Database,
  secrets: SecretBox,
  id: string,
  { name, settings, appUrl }: AlertChannelPatch,
  check?: ChangeCheck,
): Promise<AlertChannelAndContent> {
  return database.transaction(async (tx) => {
    const before = await readRow(tx, id, 'for update')
    check?.(withContent(before, secrets).content)
    const changed = settings && changedSettings(settings, before, secrets)
    const [row] = await tx.query<ChannelRow>(
      `update alert_channels set name = coalesce($2, name), app_url = case when $3 then $4 else app_url end,
         kind = coalesce($5, kind), target = coalesce($6, target), settings_encrypted = coalesce($7, settings_encrypted),
         last_error = case when $7::text is null then last_error end
       where id = $1 returning *`,
      [
        id,
        name ?? null,
        appUrl !== undefined,
        appUrl ?? null,
        changed?.kind ?? null,
        changed === undefined ? null : targetOf(changed),
        changed === undefined ? null : secrets.seal(JSON.stringify(changed)),
      ],
    )
    if (row === undefined) throw notFound(id)
    return withContent(row, secrets)
  })
}

/** @throws AppError not_found */
export async function deleteAlertChannel(database: Database, id: string): Promise<void> {
  const rows = await database.query('delete from alert_channels where id = $1 returning id', [id])
  if (rows.length === 0) throw notFound(id)
}

/** @param error  why it did not take an alert; null where it did */
export async function noteTold(database: Database, id: string, error: string | null): Promise<void> {
  await database.query(
    `update alert_channels set last_error = $2::text, last_told_at = case when $2::text is null then now() else last_told_at end
     where id = $1`,
    [id, error?.slice(0, maxErrorLength) ?? null],
  )
}

async function readRow(database: Queryable, id: string, lock: 'for update' | '' = ''): Promise<ChannelRow> {
  const [row] = await database.query<ChannelRow>(`select * from alert_channels where id = $1 ${lock}`, [id])
  if (row === undefined) throw notFound(id)
  return row
}

const openSettings = (row: ChannelRow, secrets: SecretBox): AlertChannelSettings =>
  JSON.parse(secrets.open(row.settings_encrypted)) as AlertChannelSettings

/** What a change leaves out stays where the kind does.
 *  @throws AppError bad_request when something is missing then */
function changedSettings(
  change: NonNullable<AlertChannelPatch['settings']>,
  row: ChannelRow,
  secrets: SecretBox,
): AlertChannelSettings {
  const kept = change.kind === row.kind ? openIfPossible(row, secrets) : undefined
  const members = Object.entries({ ...kept, ...change }).filter(([, value]) => value !== null)
  const merged = AlertChannelSettingsSchema.safeParse(Object.fromEntries(members))
  if (merged.success) return merged.data
  const [issue] = merged.error.issues
  const path = `settings.${issue === undefined ? '' : memberOf(issue)}`
  throw new AppError('bad_request', `${path} is missing`, { path })
}

/** Settings that cannot be opened count as none: the channel can then be looked at, and set anew. */
function openIfPossible(row: ChannelRow, secrets: SecretBox): AlertChannelSettings | undefined {
  try {
    return openSettings(row, secrets)
  } catch {
    return undefined
  }
}

function viewOf(settings: AlertChannelSettings | undefined): AlertChannelView | null {
  switch (settings?.kind) {
    case undefined:
      return null
    case 'webhook':
      return { kind: 'webhook', hasSharedSecret: settings.sharedSecret !== undefined }
    case 'slack':
      return { kind: 'slack' }
    case 'email':
      return { kind: 'email', from: settings.from, to: settings.to }
  }
}

const targetOf = (settings: AlertChannelSettings): string =>
  settings.kind === 'email' ? settings.to.join(', ') : new URL(settings.url).host

const toChannel = (row: ChannelRow, secrets: SecretBox): AlertChannel => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  target: row.target,
  settings: viewOf(openIfPossible(row, secrets)),
  appUrl: row.app_url,
  lastToldAt: row.last_told_at?.toISOString() ?? null,
  lastError: row.last_error,
  createdAt: row.created_at.toISOString(),
})

const withContent = (row: ChannelRow, secrets: SecretBox): AlertChannelAndContent => ({
  channel: toChannel(row, secrets),
  content: { name: row.name, settings: openIfPossible(row, secrets), appUrl: row.app_url },
})

const notFound = (id: string): AppError => new AppError('not_found', `no alert channel has the id ${id}`)
