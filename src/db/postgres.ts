import pg from 'pg'
import type { Logger } from '../logger.ts'
import { within } from '../within.ts'
import type { Database } from './database.ts'
import { databaseOf, type StatementLimits } from './pooled-database.ts'

/** Connections of one node; PostgreSQL allows 100 in all by default. */
const maxConnections = 10

/** Milliseconds until a server that does not answer counts as away. */
const connectTimeoutMs = 5_000

/** How soon a server whose machine is gone is noticed on a connection that waits for it: after so many milliseconds of
 *  silence it is asked each second for ten seconds whether it is there. */
const keepAliveMs = 10_000

/** Time limits of statements: an ordinary one takes milliseconds, one on a whole table of millions of rows minutes. */
const statementLimits: StatementLimits = { ordinaryMs: 10_000, patientMs: 600_000 }

/** A transaction may pause between two statements for so many times the limit of one; none of ours pauses for that long. */
const idleShare = 1.5

/** What the server is told of each connection. `client_connection_check_interval` has it look whether the client is still there: it would
 *  go on with a statement that nobody waits for any more. Servers before PostgreSQL 14 do not know it.
 *  `idle_in_transaction_session_timeout` takes the locks from a node that stands still in the middle of a transaction: all others would
 *  wait for it. `jit` compiles what the server expects to take long, which it does of any statement on a table that grew since it last looked
 *  at it: up to 0.3 s for one of milliseconds. */
const sessionSettings = ({ ordinaryMs }: StatementLimits): string[] => [
  `client_connection_check_interval = '2s'`,
  `idle_in_transaction_session_timeout = '${Math.round(idleShare * ordinaryMs)}ms'`,
  'jit = off',
]

/** The pool waits for the promise. A server goes without a setting that it does not know. */
async function setUp(client: pg.ClientBase, limits: StatementLimits): Promise<void> {
  for (const setting of sessionSettings(limits))
    await within(connectTimeoutMs, 'the database', client.query(`set ${setting}`)).catch(() => {})
}

/** Connects to a PostgreSQL. Connections are made when needed, so that a server that is away for a while is no fault. */
export function openPostgres(url: string, logger: Logger, limits = statementLimits): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    onConnect: (client: pg.ClientBase): unknown => setUp(client, limits),
  })
  pool.on('error', (error) => logger.warn({ error: error.message }, 'database.connection_lost'))
  return databaseOf(pool, limits)
}
