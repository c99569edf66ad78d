/** A PGlite folder with all tables, made once per run; test files copy it. */

import { join } from 'node:path'
import { pino } from 'pino'
import { migrate } from '../../src/db/migrate.ts'
import { openPglite } from '../../src/db/pglite.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of a migrated PGlite that nobody opens: copy it. */
    databaseTemplate: string
  }
}

/** @returns path of the folder */
export async function makeDatabaseTemplate(runFolder: string): Promise<string> {
  const folder = join(runFolder, 'pglite-template')
  const database = await openPglite(folder, pino({ level: 'warn' }))
  await migrate(database)
  await database.close()
  return folder
}
