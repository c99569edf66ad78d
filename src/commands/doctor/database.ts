/** The database of `DATABASE_URL`. */

import { pino } from 'pino'
import type { EncryptionKey } from '../../config.ts'
import type { Database } from '../../db/database.ts'
import { openPostgres } from '../../db/postgres.ts'
import { createSecretBox } from '../../secrets.ts'
import { databaseFailure } from '../shared/database-failure.ts'
import { ok, problem, type Check } from './check.ts'
import { checkClock } from './clock.ts'

/** Stored secrets that are tried with the keys. */
const triedSecrets = 100

/** @param url  absent: the embedded database, which only its node can open */
export async function checkDatabase(url: string | undefined, keys: EncryptionKey[] | undefined): Promise<Check[]> {
  if (url === undefined) return [ok('database', 'the embedded one, in the data folder')]
  const database = openPostgres(url, pino({ level: 'silent' }))
  try {
    const askedAt = Date.now()
    const [row] = await database.query<{ version: string; now: Date; isMigrated: boolean }>(
      `select current_setting('server_version') as version, clock_timestamp() as now,
              to_regclass('migrations') is not null as "isMigrated"`,
    )
    return [
      ok('database', `PostgreSQL ${row?.version ?? ''}`),
      checkClock('PostgreSQL', row?.now, askedAt),
      ...(row?.isMigrated === true && keys !== undefined ? [await checkSecrets(database, keys)] : []),
    ]
  } catch (error) {
    return [
      problem(
        'database',
        databaseFailure(error).message,
        'Check that PostgreSQL runs where DATABASE_URL says, and that the user and the password are right.',
      ),
    ]
  } finally {
    await database.close()
  }
}

/** Whether the ring opens what is stored. */
async function checkSecrets(database: Database, keys: EncryptionKey[]): Promise<Check> {
  const rows = await database.query<{ id: string; sealed: string }>(
    `select id, shared_secret_encrypted as sealed from destinations
     where shared_secret_encrypted is not null order by id limit $1`,
    [triedSecrets],
  )
  const box = createSecretBox(keys)
  const closed = rows.filter(({ sealed }) => !opens(() => box.open(sealed)))
  if (closed.length === 0) return ok('stored secrets', `${rows.length} checked, the keys decrypt them`)
  return problem(
    'stored secrets',
    `the keys do not decrypt those of ${closed.map(({ id }) => id).join(', ')}`,
    'Add the key that they were stored with to the end of POSTRIDER_ENCRYPTION_KEYS, or set these secrets again.',
  )
}

function opens(open: () => string): boolean {
  try {
    open()
    return true
  } catch {
    return false
  }
}
