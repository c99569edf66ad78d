/** The PostgreSQL of a chaos run: one that can be stopped, started again, frozen, and lose a connection. */

import { Client } from 'pg'
import { startPostgres } from '../support/postgres.ts'

export interface ChaosPostgres {
  url: string
  /** Ends it with all its connections, as a restart does. */
  halt(): Promise<void>
  resume(): Promise<void>
  freeze(): void
  thaw(): void
  /** Ends the connection of a client. @returns whether there was one */
  killBackend(): Promise<boolean>
  stop(): Promise<void>
}

export async function startChaosPostgres(): Promise<ChaosPostgres> {
  const server = await startPostgres()
  const url = await server.createDatabase()
  return {
    url,
    halt: () => server.halt(),
    resume: () => server.resume(),
    freeze: () => server.freeze(),
    thaw: () => server.thaw(),
    async killBackend() {
      const client = new Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      try {
        const { rowCount } = await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()
           order by state = 'active' desc, backend_start limit 1`,
        )
        return rowCount === 1
      } finally {
        await client.end()
      }
    },
    stop: () => server.stop(),
  }
}
