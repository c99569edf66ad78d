/** The columns that hold sealed secrets, whichever table they are in, and the change of the key they are sealed with. */

import type { SecretBox } from '../secrets.ts'
import type { Database } from './database.ts'

/** A place where a sealed secret stands. */
export interface SealedValue {
  table: string
  column: string
  id: string
}

/** Every sealed column; its table has a primary key `id`. A secret moves from `shared_` to `previous_`, so that the order
 *  here lets a walk over all meet one that moves meanwhile. */
export const sealedColumns = [
  { table: 'destinations', column: 'shared_secret_encrypted' },
  { table: 'destinations', column: 'previous_secret_encrypted' },
  { table: 'endpoints', column: 'headers_encrypted' },
  { table: 'audiences', column: 'membership_encrypted' },
  { table: 'id_hashing_keys', column: 'key_encrypted' },
  { table: 'user_keys', column: 'key_encrypted' },
  { table: 'alert_channels', column: 'settings_encrypted' },
  { table: 'listen_requests', column: 'request_encrypted' },
] as const
type SealedColumn = (typeof sealedColumns)[number]

/** How many secrets are read at once. */
const batchSize = 200

/** How many secrets each key holds, by the key's id. */
export async function countByKey(database: Database): Promise<Map<string, number>> {
  const columns = sealedColumns.map(({ table, column }) => `select ${column} as sealed from ${table}`)
  const rows = await database.query<{ key: string; count: string }>(
    `select split_part(sealed, ':', 1) as key, count(*) as count from (${columns.join(' union all ')}) as s
     where sealed is not null group by 1`,
  )
  return new Map(rows.map(({ key, count }) => [key, Number(count)]))
}

/** How many secrets of each column are tried to tell whether the keys are those of this database. */
const sampleSize = 20

/** Makes sure that the keys are those of this database. A single secret that cannot be opened says nothing of the others, and
 *  shows at its destination.
 *  @throws StartError when there are secrets and none of those looked at can be opened */
export async function checkKeys(database: Database, secrets: SecretBox): Promise<void> {
  const samples = sealedColumns.map(
    ({ table, column }) =>
      `(select ${column} as sealed from ${table} where ${column} is not null order by id limit ${sampleSize})`,
  )
  const rows = await database.query<{ sealed: string }>(samples.join(' union all '))
  const tried = rows.map(({ sealed }) => open(secrets, sealed))
  const failures = tried.filter((outcome) => outcome instanceof Error)
  if (failures[0] !== undefined && failures.length === tried.length) throw failures[0]
}

export interface ResealReport {
  /** Called with how many secrets have been looked at. */
  onProgress: (done: number) => void
  /** Called for each secret that cannot be opened; it stays as it is. */
  onUnreadable: (value: SealedValue, error: Error) => void
}

/** Seals with the newest key of `secrets` what an older one holds. May run beside nodes and beside itself: a secret that
 *  changes meanwhile keeps the change. What was done stays done when it is cut off.
 *  @param newestKey  id of the key that `secrets` seals with
 *  @returns how many it sealed anew */
export async function resealAll(
  database: Database,
  secrets: SecretBox,
  newestKey: string,
  { onProgress, onUnreadable }: ResealReport,
): Promise<number> {
  let done = 0
  let resealed = 0
  for (const place of sealedColumns)
    for await (const { id, sealed } of sealedWithOthers(database, place, newestKey)) {
      const plaintext = open(secrets, sealed)
      if (plaintext instanceof Error) onUnreadable({ ...place, id }, plaintext)
      else if (await replace(database, place, id, sealed, secrets.seal(plaintext))) resealed++
      onProgress(++done)
    }
  return resealed
}

/** The secrets of a column that another key than `newestKey` sealed, in order of their ids. */
async function* sealedWithOthers(
  database: Database,
  { table, column }: SealedColumn,
  newestKey: string,
): AsyncGenerator<{ id: string; sealed: string }> {
  let after = ''
  for (;;) {
    const rows = await database.query<{ id: string; sealed: string }>(
      `select id, ${column} as sealed from ${table}
       where ${column} is not null and split_part(${column}, ':', 1) <> $1 and id > $2 order by id limit $3`,
      [newestKey, after, batchSize],
    )
    yield* rows
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

function open(secrets: SecretBox, sealed: string): string | Error {
  try {
    return secrets.open(sealed)
  } catch (error) {
    return error as Error
  }
}

/** Replaces one secret by itself sealed anew. Only one row is locked at a time: two processes that do this, or a node that changes the
 *  row, wait for each other and never in a ring.
 *  @returns whether the secret still stood there */
async function replace(
  database: Database,
  { table, column }: SealedColumn,
  id: string,
  before: string,
  after: string,
): Promise<boolean> {
  const rows = await database.query(
    `update ${table} set ${column} = $3 where id = $1 and ${column} = $2 returning id`,
    [id, before, after],
  )
  return rows.length > 0
}
