/** The database of an installation and the keys of what is sealed in it, for a command that runs without the node. */

import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { readConfig, type Config, type EncryptionKey } from '../../config.ts'
import { openDataFolder } from '../../data-folder.ts'
import type { Database } from '../../db/database.ts'
import { openPglite } from '../../db/pglite.ts'
import { openPostgres } from '../../db/postgres.ts'
import { StartError } from '../../errors.ts'
import { existingKeys } from '../../installation.ts'
import { databaseFailure } from '../shared/database-failure.ts'
import { CommandError } from '../shared/failure.ts'

export interface StoredSecrets {
  database: Database
  /** Newest first; at least one. */
  keys: [EncryptionKey, ...EncryptionKey[]]
  /** Whether the database is the embedded one, whose node does not run. */
  isEmbedded: boolean
  /** How long Temporal keeps what has ended, in milliseconds. */
  retentionMs: number
}

/** Opens them for `work`, by the settings that a node has.
 *  @throws StartError when a setting is wrong, there are no keys, or a node uses the embedded database */
export async function withStoredSecrets(
  env: NodeJS.ProcessEnv,
  work: (stored: StoredSecrets) => Promise<void>,
): Promise<void> {
  const config = readConfig(env)
  const [newest, ...older] = await existingKeys(config, resolve(config.dataDir))
  if (newest === undefined) throw new StartError('there are no encryption keys')
  await withDatabase(config, (database) =>
    work({
      database,
      keys: [newest, ...older],
      isEmbedded: config.databaseUrl === undefined,
      retentionMs: config.retentionMs,
    }),
  )
}

async function withDatabase(config: Config, work: (database: Database) => Promise<void>): Promise<void> {
  const logger = pino({ level: 'silent' })
  if (config.databaseUrl !== undefined) return runAndClose(openPostgres(config.databaseUrl, logger), work)
  const folder = await openDataFolder(config.dataDir)
  try {
    await runAndClose(await openPglite(join(folder.path, 'pglite'), logger), work)
  } finally {
    await folder.close()
  }
}

async function runAndClose(database: Database, work: (database: Database) => Promise<void>): Promise<void> {
  try {
    await work(database)
  } catch (error) {
    throw error instanceof CommandError ? error : databaseFailure(error)
  } finally {
    await database.close()
  }
}
