/** `postrider migrate`: brings a PostgreSQL up to date before the nodes start. */

import { Command } from 'commander'
import { databaseFailure } from './shared/database-failure.ts'
import { CommandError } from './shared/failure.ts'
import { outputOf } from './shared/session.ts'

export const migrateCommand = (): Command =>
  new Command('migrate')
    .description('bring the database of DATABASE_URL up to date (`start` does this, too)')
    .action(async (_options: unknown, self: Command) => {
      // Loaded only here: other commands need no database.
      const [{ readDatabaseUrl }, { pino }, { openPostgres }, { migrate }] = await Promise.all([
        import('../config.ts'),
        import('pino'),
        import('../db/postgres.ts'),
        import('../db/migrate.ts'),
      ])
      const url = readDatabaseUrl(process.env)
      if (url === undefined)
        throw new CommandError('usage', 'DATABASE_URL is not set; `start` brings the embedded database up to date')
      const database = openPostgres(url, pino({ level: 'silent' }))
      try {
        const applied = await migrate(database).catch((error: unknown) => {
          throw databaseFailure(error)
        })
        outputOf(self).result({ applied }, () =>
          applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`,
        )
      } finally {
        await database.close()
      }
    })
