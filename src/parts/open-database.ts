import { join } from 'node:path'
import type { CleanUps } from '../clean-ups.ts'
import type { Config } from '../config.ts'
import { StartError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { Database } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { openPglite } from '../db/pglite.ts'
import { openPostgres } from '../db/postgres.ts'

export interface OpenDatabaseOptions {
  logger: Logger
  onProgress: (line: string) => void
}

/** Opens the PostgreSQL that the settings name, or the embedded database, and brings its tables up to date.
 *  @throws StartError when it cannot be reached, or its tables cannot be made */
export async function openDatabase(
  { databaseUrl }: Config,
  dataDir: string,
  { logger, onProgress }: OpenDatabaseOptions,
  cleanUps: CleanUps,
): Promise<Database> {
  if (databaseUrl === undefined) onProgress('Opening the embedded database')
  const database =
    databaseUrl === undefined ? await openPglite(join(dataDir, 'pglite'), logger) : openPostgres(databaseUrl, logger)
  cleanUps.add(() => database.close())
  try {
    await migrate(database)
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    throw new StartError(`The database cannot be used: ${message || code}`, { cause: error })
  }
  return database
}
