import { AppError } from '../errors.ts'
import { newDestinationId, newEndpointId } from '../ids.ts'
import type { Destination, DestinationPatch, NewDestination, WebhookInput } from '../schemas/destination.ts'
import type { SecretBox } from '../secrets.ts'
import type { Database, Queryable } from './database.ts'
import { matchEndpoints } from './match-endpoints.ts'
import { pageOf, positionSql, startOfPage, type Page, type PageRequest } from './page.ts'
import { requestRecheck } from './destination-rechecks.ts'
import { raiseSettingsVersion } from './settings-version.ts'

interface EndpointRow {
  id: string
  url: string
  headers_encrypted: string
}

interface DestinationRow {
  id: string
  name: string
  type: 'webhooks'
  enabled: boolean
  success_policy: 'any' | 'all'
  shared_secret_encrypted: string | null
  previous_secret_encrypted: string | null
  previous_secret_until: Date | null
  paused_at: Date | null
  paused_total_ms: string
  created_at: Date
  updated_at: Date
  source_ids: string[]
  endpoints: EndpointRow[]
}

/** A destination as deliveries need it: with its secrets in clear. Secrets and headers are opened when they are first looked
 *  at, and that throws where the key ring has no key for them. */
export interface StoredDestination extends Destination {
  /** Why its secrets or headers cannot be opened; undefined when they can. */
  unreadableReason: string | undefined
  /** Secrets that sign, newest first; the older one until its time is over. */
  secrets: { secret: string; until: Date | null }[]
  /** Since when it is paused; null when it is not. */
  pausedAt: Date | null
  /** Milliseconds it was paused in earlier pauses. */
  pausedTotalMs: number
}

/** Secrets and header values leave this module in clear and are stored sealed. */
export interface DestinationStore {
  list(request: PageRequest): Promise<Page<Destination>>
  /** @param ids  only these; all of them when it is left out */
  all(ids?: readonly string[]): Promise<StoredDestination[]>
  /** @throws AppError not_found */
  get(id: string): Promise<Destination>
  /** @throws AppError bad_request when a source does not exist */
  create(input: NewDestination): Promise<Destination>
  /** @throws AppError not_found; bad_request when a source or an entry's id does not exist */
  update(id: string, patch: DestinationPatch): Promise<Destination>
  /** @throws AppError not_found */
  delete(id: string): Promise<void>
}

const selectDestinations = `
  select d.*, ${positionSql},
    (select coalesce(array_agg(source_id order by source_id), '{}') from destination_sources s
     where s.destination_id = d.id) as source_ids,
    (select coalesce(json_agg(json_build_object('id', e.id, 'url', e.url, 'headers_encrypted', e.headers_encrypted)
       order by e.position), '[]') from endpoints e where e.destination_id = d.id) as endpoints
  from destinations d`

export function createDestinationStore(database: Database, secrets: SecretBox): DestinationStore {
  const toStored = (row: DestinationRow): StoredDestination => {
    const opened = onFirstUse(() => [
      ...(row.shared_secret_encrypted === null
        ? []
        : [{ secret: secrets.open(row.shared_secret_encrypted), until: null }]),
      ...(row.previous_secret_encrypted === null
        ? []
        : [{ secret: secrets.open(row.previous_secret_encrypted), until: row.previous_secret_until }]),
    ])
    const webhooks = row.endpoints.map(({ id, url, headers_encrypted }) => {
      const headers = onFirstUse(() => openHeaders(headers_encrypted))
      return {
        id,
        url,
        get headers() {
          return headers()
        },
      }
    })
    const unreadableReason = onFirstUse(() => {
      try {
        opened()
        webhooks.forEach(({ headers }) => headers)
        return undefined
      } catch (error) {
        return `its stored secrets cannot be read: ${(error as Error).message}`
      }
    })
    return {
      ...toDestination(row, webhooks),
      get secrets() {
        return opened()
      },
      get unreadableReason() {
        return unreadableReason()
      },
      pausedAt: row.paused_at,
      pausedTotalMs: Number(row.paused_total_ms),
    }
  }

  /** Headers that cannot be read are shown as none: the destination can then be looked at, and its headers set anew. */
  const shownWebhooks = ({ endpoints }: DestinationRow): Destination['settings']['webhooks'] =>
    endpoints.map(({ id, url, headers_encrypted }) => ({ id, url, headers: shownHeaders(headers_encrypted) }))

  const shownHeaders = (sealed: string): Record<string, string> => {
    try {
      return openHeaders(sealed)
    } catch {
      return {}
    }
  }

  const toDestination = (row: DestinationRow, webhooks = shownWebhooks(row)): Destination => ({
    id: row.id,
    name: row.name,
    type: row.type,
    enabled: row.enabled,
    paused: row.paused_at !== null,
    successPolicy: row.success_policy,
    sourceIds: row.source_ids,
    settings: {
      hasSharedSecret: row.shared_secret_encrypted !== null,
      webhooks,
    },
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  })

  const openHeaders = (sealed: string): Record<string, string> =>
    JSON.parse(secrets.open(sealed)) as Record<string, string>

  const read = async (tx: Queryable, id: string): Promise<Destination> => {
    const [row] = await tx.query<DestinationRow>(`${selectDestinations} where d.id = $1`, [id])
    if (row === undefined) throw new AppError('not_found', `no destination has the id ${id}`)
    return toDestination(row)
  }

  const connectSources = async (tx: Queryable, id: string, sourceIds: string[]): Promise<void> => {
    const wanted = [...new Set(sourceIds)]
    const rows = await tx.query<{ id: string }>('select id from sources where id = any($1::text[])', [wanted])
    const known = new Set(rows.map((row) => row.id))
    const missing = sourceIds.findIndex((sourceId) => !known.has(sourceId))
    if (missing !== -1)
      throw new AppError('bad_request', `sourceIds[${missing}]: no source has the id ${String(sourceIds[missing])}`, {
        path: `sourceIds[${missing}]`,
      })
    await tx.query('delete from destination_sources where destination_id = $1', [id])
    await tx.query('insert into destination_sources select $1, unnest($2::text[])', [id, wanted])
  }

  const replaceEndpoints = async (tx: Queryable, id: string, webhooks: WebhookInput[]): Promise<void> => {
    const present = await tx.query<EndpointRow>(
      'select id, url, headers_encrypted from endpoints where destination_id = $1 order by position',
      [id],
    )
    const matched = matchEndpoints(webhooks, present)
    const next = webhooks.map((webhook, position) => {
      const before = matched[position]
      if (webhook.id !== undefined && before === undefined) throw wrongEndpointId(webhook.id, position, present)
      return {
        id: before?.id ?? newEndpointId(),
        url: webhook.url,
        headers: keptHeaders(webhook, before) ?? secrets.seal(JSON.stringify(webhook.headers ?? {})),
      }
    })
    await tx.query('delete from endpoints where destination_id = $1', [id])
    await tx.query(
      `insert into endpoints (id, destination_id, position, url, headers_encrypted)
       select e.id, $1, e.position, e.url, e.headers
       from unnest($2::text[], $3::text[], $4::text[]) with ordinality as e(id, url, headers, position)`,
      [id, next.map((e) => e.id), next.map((e) => e.url), next.map((e) => e.headers)],
    )
  }

  const replaceSecret = async (
    tx: Queryable,
    id: string,
    secret: string | null,
    overlapSeconds: number,
  ): Promise<void> => {
    await tx.query(
      `update destinations set
         previous_secret_encrypted = case when $3 > 0 then shared_secret_encrypted end,
         previous_secret_until = case when $3 > 0 then now() + make_interval(secs => $3) end,
         shared_secret_encrypted = $2
       where id = $1`,
      [id, secret === null ? null : secrets.seal(secret), overlapSeconds],
    )
  }

  const setPaused = async (tx: Queryable, id: string, paused: boolean): Promise<void> => {
    await tx.query(
      paused
        ? 'update destinations set paused_at = coalesce(paused_at, clock_timestamp()) where id = $1'
        : `update destinations set paused_at = null, paused_total_ms = paused_total_ms +
             coalesce(extract(epoch from clock_timestamp() - paused_at) * 1000, 0)::bigint where id = $1`,
      [id],
    )
  }

  return {
    async list(request) {
      const start = startOfPage(request)
      const rows = await database.query<DestinationRow & { position: string }>(
        `${selectDestinations} where (created_at, id) > ($1::timestamptz, $2) order by created_at, id limit $3`,
        [start.created_at, start.id, request.limit + 1],
      )
      return pageOf(rows, request, (row) => toDestination(row))
    },
    async all(ids) {
      const some = ids === undefined ? '' : 'where d.id = any($1::text[])'
      const values = ids === undefined ? [] : [[...ids]]
      return (await database.query<DestinationRow>(`${selectDestinations} ${some}`, values)).map(toStored)
    },
    get: (id) => read(database, id),
    create: (input) =>
      database.transaction(async (tx) => {
        const id = newDestinationId()
        const secret = input.settings.sharedSecret ?? null
        await raiseSettingsVersion(tx)
        await tx.query(
          `insert into destinations (id, name, type, enabled, success_policy, shared_secret_encrypted)
           values ($1, $2, $3, $4, $5, $6)`,
          [
            id,
            input.name,
            input.type,
            input.enabled,
            input.successPolicy,
            secret === null ? null : secrets.seal(secret),
          ],
        )
        await connectSources(tx, id, input.sourceIds)
        await replaceEndpoints(tx, id, input.settings.webhooks)
        return read(tx, id)
      }),
    update: (id, patch) =>
      database.transaction(async (tx) => {
        await raiseSettingsVersion(tx)
        const rows = await tx.query(
          `update destinations set name = coalesce($2, name), enabled = coalesce($3, enabled),
             success_policy = coalesce($4, success_policy), updated_at = now() where id = $1 returning id`,
          [id, patch.name ?? null, patch.enabled ?? null, patch.successPolicy ?? null],
        )
        if (rows.length === 0) throw new AppError('not_found', `no destination has the id ${id}`)
        if (patch.paused !== undefined) await setPaused(tx, id, patch.paused)
        if (patch.paused === false || patch.enabled === false) await requestRecheck(tx, id)
        if (patch.sourceIds !== undefined) await connectSources(tx, id, patch.sourceIds)
        const { sharedSecret, secretOverlapSeconds = 0, webhooks } = patch.settings ?? {}
        if (sharedSecret !== undefined) await replaceSecret(tx, id, sharedSecret, secretOverlapSeconds)
        if (webhooks !== undefined) await replaceEndpoints(tx, id, webhooks)
        return read(tx, id)
      }),
    delete: (id) =>
      database.transaction(async (tx) => {
        await raiseSettingsVersion(tx)
        const rows = await tx.query('delete from destinations where id = $1 returning id', [id])
        if (rows.length === 0) throw new AppError('not_found', `no destination has the id ${id}`)
        await requestRecheck(tx, id)
      }),
  }
}

function wrongEndpointId(id: string, position: number, present: EndpointRow[]): AppError {
  const path = `settings.webhooks[${position}].id`
  const isKnown = present.some((one) => one.id === id)
  return new AppError(
    'bad_request',
    isKnown ? `${path}: ${id} stands here twice` : `${path}: no webhook of this destination has the id ${id}`,
    { path },
  )
}

/** Headers often authenticate: an entry without them keeps those of the endpoint that it names by its id, or that is on
 *  the same origin; another server must not get them unasked.
 *  @returns undefined when it has headers of its own, or begins without any */
function keptHeaders({ id, url, headers }: WebhookInput, before: EndpointRow | undefined): string | undefined {
  if (headers !== undefined || before === undefined) return undefined
  return id !== undefined || new URL(url).origin === new URL(before.url).origin ? before.headers_encrypted : undefined
}

function onFirstUse<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
