/** Where alerts go: settings leave this module in clear and are stored sealed. */

import { AppError } from '../errors.ts'
import { newAlertChannelId } from '../ids.ts'
import {
  maxAlertChannels,
  type AlertChannel,
  type AlertChannelSettings,
  type NewAlertChannel,
} from '../schemas/alert.ts'
import type { SecretBox } from '../secrets.ts'
import type { Database } from './database.ts'

/** A channel as alerts need it. */
export interface StoredAlertChannel {
  settings: AlertChannelSettings
  appUrl: string | null
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

export async function listAlertChannels(database: Database): Promise<AlertChannel[]> {
  const rows = await database.query<ChannelRow>('select * from alert_channels order by created_at, id')
  return rows.map(toChannel)
}

/** @throws AppError not_found */
export async function getAlertChannel(database: Database, id: string): Promise<AlertChannel> {
  return toChannel(await readRow(database, id))
}

/** @throws AppError not_found */
export async function openAlertChannel(
  database: Database,
  secrets: SecretBox,
  id: string,
): Promise<StoredAlertChannel> {
  const row = await readRow(database, id)
  return { settings: JSON.parse(secrets.open(row.settings_encrypted)) as AlertChannelSettings, appUrl: row.app_url }
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
      `insert into alert_channels (id, name, kind, target, app_url, settings_encrypted)
       select $1, $2, $3, $4, $5, $6 where (select count(*) from alert_channels) < $7 returning *`,
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
    return toChannel(row)
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

async function readRow(database: Database, id: string): Promise<ChannelRow> {
  const [row] = await database.query<ChannelRow>('select * from alert_channels where id = $1', [id])
  if (row === undefined) throw notFound(id)
  return row
}

const targetOf = (settings: AlertChannelSettings): string =>
  settings.kind === 'email' ? settings.to.join(', ') : new URL(settings.url).host

const toChannel = (row: ChannelRow): AlertChannel => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  target: row.target,
  appUrl: row.app_url,
  lastToldAt: row.last_told_at?.toISOString() ?? null,
  lastError: row.last_error,
  createdAt: row.created_at.toISOString(),
})

const notFound = (id: string): AppError => new AppError('not_found', `no alert channel has the id ${id}`)
