/** API tokens: made, revoked, and found again by what a request carries. */

import { newApiToken, tokenHash } from '../access/token-hash.ts'
import { AppError } from '../errors.ts'
import { newApiTokenId } from '../ids.ts'
import type { Logger } from '../logger.ts'
import type { ApiToken, CreatedApiToken, NewApiToken, Role } from '../schemas/access.ts'
import type { Database, Queryable } from './database.ts'
import { pageOf, positionSql, startOfPage, type Page, type PageRequest } from './page.ts'

export const maxApiTokens = 1_000

/** How long the tokens that were read are believed, in milliseconds: a token that another node made or revoked counts only after
 *  that. */
const snapshotAgeMs = 1_000

/** A last use is written when the one before is at least this old, in milliseconds. */
const lastUseStepMs = 60_000

interface TokenRow {
  id: string
  name: string
  role: Role
  created_at: Date
  last_used_at: Date | null
}

const columns = 'id, name, role, created_at, last_used_at'

const toApiToken = (row: TokenRow): ApiToken => ({
  id: row.id,
  name: row.name,
  role: row.role,
  createdAt: row.created_at.toISOString(),
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
})

export interface TokenStore {
  list(request: PageRequest): Promise<Page<ApiToken>>
  /** @throws AppError not_found */
  get(id: string): Promise<ApiToken>
  /** @throws AppError conflict when the name is taken, or there are `maxApiTokens` */
  create(input: NewApiToken): Promise<CreatedApiToken>
  /** @throws AppError not_found */
  revoke(id: string): Promise<void>
  /** The token with this text; notes its use. */
  findByToken(token: string): Promise<ApiToken | undefined>
  /** The token with this id, for the session that it began; notes its use. */
  findById(id: string): Promise<ApiToken | undefined>
}

/** All tokens as they were when they were last read. */
interface Snapshot {
  byHash: Map<string, ApiToken>
  byId: Map<string, ApiToken>
}

export function createTokenStore(database: Database, logger: Logger): TokenStore {
  let snapshot: Promise<Snapshot> | undefined
  let askedAt = 0

  /** Reads the tokens at most once a second, however many wrong ones come. */
  const latest = (): Promise<Snapshot> => {
    if (snapshot !== undefined && Date.now() - askedAt < snapshotAgeMs) return snapshot
    askedAt = Date.now()
    const reading = readAll(database)
    snapshot = reading
    reading.catch(() => {
      if (snapshot === reading) snapshot = undefined
    })
    return reading
  }

  const noteUse = (token: ApiToken | undefined): ApiToken | undefined => {
    const now = Date.now()
    if (token === undefined || (token.lastUsedAt !== null && now - Date.parse(token.lastUsedAt) < lastUseStepMs))
      return token
    token.lastUsedAt = new Date(now).toISOString()
    database
      .query(
        `update api_tokens set last_used_at = now()
         where id = $1 and (last_used_at is null or last_used_at < now() - make_interval(secs => $2 / 1000.0))`,
        [token.id, lastUseStepMs],
      )
      .catch((error: Error) => logger.warn({ error: error.message }, 'token.use_not_noted'))
    return token
  }

  return {
    async list(request) {
      const start = startOfPage(request)
      const rows = await database.query<TokenRow & { position: string }>(
        `select ${columns}, ${positionSql} from api_tokens
         where (created_at, id) > ($1::timestamptz, $2) order by created_at, id limit $3`,
        [start.created_at, start.id, request.limit + 1],
      )
      return pageOf(rows, request, toApiToken)
    },
    async get(id) {
      const [row] = await database.query<TokenRow>(`select ${columns} from api_tokens where id = $1`, [id])
      if (row === undefined) throw noToken(id)
      return toApiToken(row)
    },
    async create({ name, role }) {
      const token = newApiToken()
      const [row] = await database.query<TokenRow>(
        `insert into api_tokens (id, name, role, token_hash)
         select $1, $2, $3, $4 where (select count(*) from api_tokens) < $5
         on conflict do nothing returning ${columns}`,
        [newApiTokenId(), name, role, tokenHash(token), maxApiTokens],
      )
      snapshot = undefined
      if (row !== undefined) return { ...toApiToken(row), token }
      throw await whyNotCreated(database, name)
    },
    async revoke(id) {
      const rows = await database.query('delete from api_tokens where id = $1 returning id', [id])
      snapshot = undefined
      if (rows.length === 0) throw noToken(id)
    },
    findByToken: async (token) => noteUse((await latest()).byHash.get(tokenHash(token).toString('base64'))),
    findById: async (id) => noteUse((await latest()).byId.get(id)),
  }
}

async function whyNotCreated(database: Queryable, name: string): Promise<AppError> {
  const [same] = await database.query('select from api_tokens where name = $1', [name])
  if (same === undefined)
    return new AppError('conflict', `there are ${maxApiTokens} tokens, the most: revoke one first`)
  return new AppError('conflict', 'name: another token has this name: choose another one, or revoke that one first', {
    path: 'name',
  })
}

const noToken = (id: string): AppError => new AppError('not_found', `no token has the id ${id}`)

async function readAll(database: Queryable): Promise<Snapshot> {
  const rows = await database.query<TokenRow & { token_hash: Uint8Array }>(
    `select ${columns}, token_hash from api_tokens limit $1`,
    [maxApiTokens],
  )
  const tokens = rows.map((row) => ({ hash: Buffer.from(row.token_hash).toString('base64'), token: toApiToken(row) }))
  return {
    byHash: new Map(tokens.map(({ hash, token }) => [hash, token])),
    byId: new Map(tokens.map(({ token }) => [token.id, token])),
  }
}
