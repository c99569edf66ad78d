import { join } from 'node:path'
import type { Config } from '../config.ts'
import { diskFault } from '../data-folder.ts'
import type { Database } from '../db/database.ts'
import { databaseFailure } from '../db/failure.ts'
import { migrate } from '../db/migrate.ts'
import { onceThere } from '../db/once-there.ts'
import { openPglite } from '../db/pglite.ts'
import { openPostgres } from '../db/postgres.ts'
import { PartAwayError, StartError } from '../errors.ts'
import type { Logger } from '../logger.ts'

export interface OpenDatabaseOptions {
  logger: Logger
  onProgress: (line: string) => void
  /** Ends the opening. */
  signal: AbortSignal
}

/** A database that is there later. */
export interface OpeningDatabase {
  /** Throws a PartAwayError until the database is open and its tables are up to date. */
  database: Database
  /** Opens it, brings its tables up to date, and does `load` with it; a PostgreSQL that is away is waited for.
   *  @throws StartError when it cannot be used, so that waiting would not help; the signal's reason */
  open(load: () => Promise<void>): Promise<void>
  /** Ends an opening under way, and closes what was opened. */
  close(): Promise<void>
}

/** The PostgreSQL that the settings name, or the embedded database. */
export function prepareDatabase(config: Config, dataDir: string, options: OpenDatabaseOptions): OpeningDatabase {
  const { logger, onProgress, signal } = options
  const closing = new AbortController()
  const stop = AbortSignal.any([signal, closing.signal])
  let opened = Promise.resolve()
  let connected: Database | undefined
  let isMigrated = false
  let failure: string | undefined
  const current = (): Database => {
    if (connected === undefined || !isMigrated) throw new PartAwayError('database', failure)
    return connected
  }

  const connect = async (): Promise<Database> => {
    if (config.databaseUrl !== undefined) return openPostgres(config.databaseUrl, logger)
    onProgress('Opening the embedded database')
    return openEmbedded(dataDir, logger)
  }

  const openOnce = async (load: () => Promise<void>): Promise<void> => {
    connected ??= await connect()
    await migrate(connected)
    isMigrated = true
    await load()
  }

  const onAway = (reason: string): void => {
    failure = reason
  }
  const open = async (load: () => Promise<void>): Promise<void> => {
    try {
      await onceThere(() => openOnce(load), { signal: stop, onAway })
    } catch (error) {
      stop.throwIfAborted()
      if (error instanceof StartError) throw error
      throw new StartError(`The database cannot be used: ${databaseFailure(error).message}`, { cause: error })
    }
  }

  return {
    database: later(current),
    open: (load) => (opened = open(load)),
    async close() {
      closing.abort()
      await opened.catch(() => {})
      await connected?.close()
    },
  }
}

/** @throws StartError: waiting does not help */
async function openEmbedded(dataDir: string, logger: Logger): Promise<Database> {
  const folder = join(dataDir, 'pglite')
  try {
    return await openPglite(folder, logger)
  } catch (error) {
    const fault = diskFault(dataDir, error)
    if (fault !== undefined) throw fault
    const { message } = databaseFailure(error)
    throw new StartError(
      `The embedded database ${folder} cannot be opened (${message}): its disk is full or read-only, or it is damaged; ` +
        'put it back from a backup of the data folder, or begin anew with another folder (POSTRIDER_DATA_DIR)',
      { cause: error },
    )
  }
}

/** @param current  the database, at the time of each use */
const later = (current: () => Database): Database => ({
  query: async (...statement) => current().query(...statement),
  transaction: async (work) => current().transaction(work),
  get patient() {
    return later(() => current().patient)
  },
  connections: () => current().connections(),
  close: async () => current().close(),
})
