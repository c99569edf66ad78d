/** Names of sources, destinations and audiences that are deleted: the last 10,000, kept by the tables themselves. */

import type { DeletedName } from '../schemas/deleted-name.ts'
import type { Queryable } from './database.ts'

/** Those of the ids under which something was deleted. */
export async function findDeletedNames(database: Queryable, ids: string[]): Promise<DeletedName[]> {
  const rows = await database.query<{ id: string; name: string; deleted_at: Date }>(
    'select id, name, deleted_at from deleted_names where id = any($1::text[]) order by deleted_at desc, id',
    [ids],
  )
  return rows.map(({ id, name, deleted_at: deletedAt }) => ({ id, name, deletedAt: deletedAt.toISOString() }))
}
