/** Versions of the mappings of destinations. One is never changed: deliveries name it. */

import { hash } from 'node:crypto'
import type { Mapping } from '../schemas/mapping.ts'
import type { Queryable } from './database.ts'

/** Versions of a destination that are kept; those that were replaced first go first. */
export const keptMappings = 1_000

/** Hexadecimal digits of an id: 80 bits, as those of other ids. */
const idDigits = 20

/** The same mapping has the same id. */
const idOf = (mapping: Mapping): string => `map_${hash('sha256', JSON.stringify(mapping)).slice(0, idDigits)}`

/** Puts a mapping in force from now on; null: none. */
export async function replaceMapping(tx: Queryable, destinationId: string, mapping: Mapping | null): Promise<void> {
  const id = mapping === null ? null : idOf(mapping)
  await tx.query('update destinations set mapping_id = $2 where id = $1', [destinationId, id])
  if (id === null) return
  await tx.query(
    `insert into mappings (destination_id, id, mapping) values ($1, $2, $3::json)
     on conflict (destination_id, id) do update set used_at = now()`,
    [destinationId, id, JSON.stringify(mapping)],
  )
  await tx.query(
    `delete from mappings where destination_id = $1 and id in (
       select id from mappings where destination_id = $1 order by used_at desc, id offset ${keptMappings})`,
    [destinationId],
  )
}

/** @returns undefined when there is no such version any more */
export async function readMapping(
  database: Queryable,
  destinationId: string,
  id: string,
): Promise<Mapping | undefined> {
  const [row] = await database.query<{ mapping: Mapping }>(
    'select mapping from mappings where destination_id = $1 and id = $2',
    [destinationId, id],
  )
  return row?.mapping
}
