/** An embedded database of its own, with all tables. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Database } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'
import type { Logger } from '../../src/logger.ts'

export const logger: Logger = pino({ level: 'error' })

/** @param use  gets the database, which is gone when it is through */
export async function withDatabase(use: (database: Database) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-bench-'))
  const database = await openPglite(join(folder, 'pglite'), logger)
  try {
    await migrate(database)
    await use(database)
  } finally {
    await database.close()
    await rm(folder, { recursive: true })
  }
}
