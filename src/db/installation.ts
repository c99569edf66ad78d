/** Facts about this installation that are not settings. */

import type { Queryable } from './database.ts'

export async function readFact(database: Queryable, name: string): Promise<string | undefined> {
  const [row] = await database.query<{ value: string }>('select value from installation where name = $1', [name])
  return row?.value
}

export async function writeFact(database: Queryable, name: string, value: string): Promise<void> {
  await database.query(
    'insert into installation (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    [name, value],
  )
}
