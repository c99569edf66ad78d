/** A counter that every change of settings raises, so that other nodes see that there is something to read. */

import type { Queryable } from './database.ts'

export async function raiseSettingsVersion(tx: Queryable): Promise<void> {
  await tx.query('update settings_version set version = version + 1')
}

export async function readSettingsVersion(database: Queryable): Promise<string> {
  const [row] = await database.query<{ version: string }>('select version from settings_version')
  return row?.version ?? '0'
}
