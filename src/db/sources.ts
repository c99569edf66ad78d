import { AppError } from '../errors.ts'
import { newSourceId, newWriteKey } from '../ids.ts'
import type { NewSource, Source, SourcePatch } from '../schemas/source.ts'
import type { Database, Queryable } from './database.ts'
import { pageOf, positionSql, startOfPage, type Page, type PageRequest } from './page.ts'
import { raiseSettingsVersion } from './settings-version.ts'

interface SourceRow {
  id: string
  name: string
  write_key: string
  enabled: boolean
  created_at: Date
}

const columns = 'id, name, write_key, enabled, created_at'

const toSource = (row: SourceRow): Source => ({
  id: row.id,
  name: row.name,
  writeKey: row.write_key,
  enabled: row.enabled,
  createdAt: row.created_at.toISOString(),
})

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

export async function allSources(database: Queryable): Promise<Source[]> {
  return (await database.query<SourceRow>(`select ${columns} from sources`)).map(toSource)
}

/** @throws AppError not_found */
export async function getSource(database: Queryable, id: string): Promise<Source> {
  return found(await database.query<SourceRow>(`select ${columns} from sources where id = $1`, [id]), id)
}

export async function createSource(database: Database, { name }: NewSource): Promise<Source> {
  const id = newSourceId()
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    const rows = await tx.query<SourceRow>(
      `insert into sources (id, name, write_key) values ($1, $2, $3) returning ${columns}`,
      [id, name, newWriteKey()],
    )
    return found(rows, id)
  })
}

/** @throws AppError not_found */
export async function updateSource(database: Database, id: string, patch: SourcePatch): Promise<Source> {
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    const rows = await tx.query<SourceRow>(
      `update sources set name = coalesce($2, name), enabled = coalesce($3, enabled)
       where id = $1 returning ${columns}`,
      [id, patch.name ?? null, patch.enabled ?? null],
    )
    return found(rows, id)
  })
}

/** Gives the source a new write key; the old one is refused from then on.
 *  @throws AppError not_found */
export async function rotateWriteKey(database: Database, id: string): Promise<Source> {
  return database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    const rows = await tx.query<SourceRow>(`update sources set write_key = $2 where id = $1 returning ${columns}`, [
      id,
      newWriteKey(),
    ])
    return found(rows, id)
  })
}

/** @throws AppError not_found */
export async function deleteSource(database: Database, id: string): Promise<void> {
  await database.transaction(async (tx) => {
    await raiseSettingsVersion(tx)
    found(await tx.query<SourceRow>(`delete from sources where id = $1 returning ${columns}`, [id]), id)
  })
}
