/** A counter that every change of settings raises, so that other nodes see that there is something to read. */

import type { Queryable } from './database.ts'

export async function raiseSettingsVersion(tx: Queryable): Promise<void> {
  await tx.query('update settings_version set version = version + 1')
}

export async function readSettingsVersion(database: Queryable): Promise<string> {
  const [row] = await database.query<{ version: string }>('select version from settings_version')
  return row?.version ?? '0'
}

/** Ids of the sources and destinations that were made, changed or deleted behind a version. */
export async function changedSettings(database: Queryable, version: string): Promise<string[]> {
  const rows = await database.query<{ id: string }>('select id from settings_changes where version > $1', [version])
  return rows.map(({ id }) => id)
}
