/** Names of sources, destinations and audiences that are deleted. */

import type { DeletedName } from '../schemas/deleted-name.ts'
import type { Queryable } from './database.ts'

/** Names that are kept, the latest to be deleted. */
const keepNames = 10_000

/** Keeps the name of what the transaction deletes. */
export async function keepName(tx: Queryable, { id, name }: { id: string; name: string }): Promise<void> {
  await tx.query('insert into deleted_names (id, name) values ($1, $2) on conflict (id) do nothing', [id, name])
  await tx.query(
    'delete from deleted_names where id in (select id from deleted_names order by deleted_at desc offset $1)',
    [keepNames],
  )
}

/** Those of the ids under which something was deleted. */
export async function findDeletedNames(database: Queryable, ids: string[]): Promise<DeletedName[]> {
  const rows = await database.query<{ id: string; name: string; deleted_at: Date }>(
    'select id, name, deleted_at from deleted_names where id = any($1::text[]) order by deleted_at desc, id',
    [ids],
  )
  return rows.map(({ id, name, deleted_at: deletedAt }) => ({ id, name, deletedAt: deletedAt.toISOString() }))
}
