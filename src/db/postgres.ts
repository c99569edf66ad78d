import pg from 'pg'
import type { Logger } from '../logger.ts'
import { databaseOf, type Database } from './database.ts'

/** Connections of one node; PostgreSQL allows 100 in all by default. */
const maxConnections = 10

/** Milliseconds until a server that does not answer counts as away. */
const connectTimeoutMs = 5_000

/** Connects to a PostgreSQL. Connections are made when needed, so that a server that is away for a while is no fault. */
export function openPostgres(url: string, logger: Logger): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  })
  pool.on('error', (error) => logger.warn({ error: error.message }, 'database.connection_lost'))
  return databaseOf(pool)
}
