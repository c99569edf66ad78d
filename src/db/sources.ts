import { AppError } from '../errors.ts'
import { newSourceId, newWriteKey } from '../ids.ts'
import type { NewSource, Source, SourcePatch } from '../schemas/source.ts'
import type { ChangeRule } from './change-rule.ts'
import type { Database, Queryable } from './database.ts'
import { keepName } from './deleted-names.ts'
import { pageOf, positionSql, startOfPage, type Page, type PageRequest } from './page.ts'
import { raiseSettingsVersion } from './settings-version.ts'
import { holdToNameRule, type NameRule } from './unique-name.ts'

interface SourceRow {
  id: string
  name: string
  write_key: string
  enabled: boolean
  created_at: Date
  previous_key_ends: { key_begins: string; expires_ms: number }[]
}

/** A write key that was replaced. */
export interface PreviousKey {
  writeKey: string
  expiresAt: Date
}

/** A source as ingest needs it: with the replaced keys that may still count. */
export interface StoredSource extends Source {
  previousKeys: PreviousKey[]
}

/** Replaced keys of a source that may count at a time. */
export const maxPreviousKeys = 10

/** How much of a replaced key tells it from the others. */
const shownOfKey = 6

const columns = `id, name, write_key, enabled, created_at,
  (select coalesce(json_agg(json_build_object('key_begins', left(p.write_key, ${shownOfKey}),
     'expires_ms', floor(extract(epoch from p.expires_at) * 1000)) order by p.expires_at), '[]')
   from previous_write_keys p where p.source_id = sources.id and p.expires_at > now()) as previous_key_ends`

function toSource(row: SourceRow): Source {
  const previousKeyEnds = row.previous_key_ends.map(({ key_begins, expires_ms }) => ({
    keyBegins: key_begins,
    expiresAt: new Date(expires_ms).toISOString(),
  }))
  return {
    id: row.id,
    name: row.name,
    writeKey: row.write_key,
    enabled: row.enabled,
    createdAt: row.created_at.toISOString(),
    previousKeyExpiresAt: previousKeyEnds.at(-1)?.expiresAt ?? null,
    previousKeyEnds,
  }
}

function found(rows: SourceRow[], id: string): Source {
  const [row] = rows
  if (row === undefined) throw new AppError('not_found', `no source has the id ${id}`)
  return toSource(row)
}

export async function listSources(database: Queryable, request: PageRequest): Promise<Page<Source>> {
  const start = startOfPage(request)
  const rows = await database.query<SourceRow & { position: string }>(
    `select ${columns}, ${positionSql} from sources
     where (created_at, id) > ($1::timestamptz, $2) order by created_at, id limit $3`,
    [start.created_at, start.id, request.limit + 1],
  )
  return pageOf(rows, request, toSource)
}

/** Sources with their replaced keys.
 *  @param ids  of the sources to read; all when it is left out */
export async function allSources(database: Queryable, ids?: readonly string[]): Promise<StoredSource[]> {
  const rows = await database.query<SourceRow & { previous_keys: { write_key: string; expires_ms: number }[] }>(
    `select ${columns},
       (select coalesce(json_agg(json_build_object(
          'write_key', p.write_key, 'expires_ms', floor(extract(epoch from p.expires_at) * 1000))), '[]')
        from previous_write_keys p where p.source_id = sources.id and p.expires_at > now()) as previous_keys
     from sources ${ids === undefined ? '' : 'where id = any($1::text[])'}`,
    ids === undefined ? [] : [[...ids]],
  )
  return rows.map((row) => ({
    ...toSource(row),
    previousKeys: row.previous_keys.map(({ write_key, expires_ms }) => ({
      writeKey: write_key,
      expiresAt: new Date(expires_ms),
    })),
  }))
}

/** @throws AppError not_found */
export async function getSource(database: Queryable, id: string): Promise<Source> {
  return found(await database.query<SourceRow>(`select ${columns} from sources where id = $1`, [id]), id)
}

/** @throws AppError conflict when the name is another's and that is not wanted */
export async function createSource(database: Database, { name }: NewSource, names: NameRule = {}): Promise<Source> {
  const id = newSourceId()
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    await holdToNameRule(tx, 'source', { id, name }, names)
    const rows = await tx.query<SourceRow>(
      `insert into sources (id, name, write_key, created_at) values ($1, $2, $3, clock_timestamp()) returning ${columns}`,
      [id, name, newWriteKey()],
    )
    return found(rows, id)
  })
}

/** @throws AppError not_found; conflict when the name is another's and that is not wanted; what `rule.check` throws */
export async function updateSource(
  database: Database,
  id: string,
  patch: SourcePatch,
  { check, ...names }: ChangeRule = {},
): Promise<Source> {
  return database.transaction(async (tx) => {
    // One change at a time from here on.
    await raiseSettingsVersion(tx)
    check?.(await getSource(tx, id))
    await holdToNameRule(tx, 'source', { id, name: patch.name }, names)
    const rows = await tx.query<SourceRow>(
      `update sources set name = coalesce($2, name), enabled = coalesce($3, enabled)
       where id = $1 returning ${columns}`,
      [id, patch.name ?? null, patch.enabled ?? null],
    )
    return found(rows, id)
  })
}

/** Gives the source a new write key.
 *  @param overlapSeconds  how long the replaced key still counts; those replaced before keep their own time. At 0 none of
 *    them counts any more: a key that leaked ends for certain
 *  @throws AppError not_found; conflict when too many replaced keys count */
export async function rotateWriteKey(database: Database, id: string, overlapSeconds: number): Promise<Source> {
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    if (overlapSeconds === 0) await removePreviousKeys(tx, id)
    else await keepPresentKey(tx, id, overlapSeconds)
    const rows = await tx.query<SourceRow>(`update sources set write_key = $2 where id = $1 returning ${columns}`, [
      id,
      newWriteKey(),
    ])
    return found(rows, id)
  })
}

/** Ends all replaced write keys of the source before their time.
 *  @throws AppError not_found */
export async function endPreviousKeys(database: Database, id: string): Promise<Source> {
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    await removePreviousKeys(tx, id)
    return getSource(tx, id)
  })
}

const removePreviousKeys = (tx: Queryable, id: string): Promise<unknown> =>
  tx.query('delete from previous_write_keys where source_id = $1', [id])

async function keepPresentKey(tx: Queryable, id: string, overlapSeconds: number): Promise<void> {
  await tx.query('delete from previous_write_keys where source_id = $1 and expires_at <= now()', [id])
  const rows = await tx.query('select write_key from previous_write_keys where source_id = $1', [id])
  if (rows.length >= maxPreviousKeys)
    throw new AppError(
      'conflict',
      `${maxPreviousKeys} replaced keys of this source still count: end them, then rotate again`,
    )
  await tx.query(
    `insert into previous_write_keys (write_key, source_id, expires_at)
     select write_key, id, now() + make_interval(secs => $2) from sources where id = $1`,
    [id, overlapSeconds],
  )
}

/** @throws AppError not_found */
export async function deleteSource(database: Database, id: string): Promise<void> {
  await database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    await keepName(
      tx,
      found(await tx.query<SourceRow>(`delete from sources where id = $1 returning ${columns}`, [id]), id),
    )
  })
}
