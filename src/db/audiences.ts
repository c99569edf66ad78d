import type { AudienceLink } from '../contracts/audience-sync.ts'
import { parseSqlSource } from '../audiences/sql-source.ts'
import { AppError } from '../errors.ts'
import { newAudienceId } from '../ids.ts'
import {
  MembershipSchema,
  type Audience,
  type AudienceKind,
  type AudiencePatch,
  type AudienceSchedule,
  type Membership,
  type MembershipView,
  type NewAudience,
} from '../schemas/audience.ts'
import type { SecretBox } from '../secrets.ts'
import type { ChangeRule } from './change-rule.ts'
import type { Database, Queryable } from './database.ts'
import { keepName } from './deleted-names.ts'
import { holdToNameRule, type NameRule } from './unique-name.ts'
import { pageOf, positionSql, startOfPage, type Page, type PageRequest } from './page.ts'

interface AudienceRow {
  id: string
  name: string
  key: string
  kind: AudienceKind
  membership_encrypted: string
  schedule: AudienceSchedule | null
  paused: boolean
  max_bad_row_share: number
  max_removal_share: number
  max_per_second: number | null
  /** Id of the row set that is its membership; null before the first. */
  load: string | null
  members: string
  etag: string | null
  created_at: Date
  updated_at: Date
  links: LinkRow[]
}

interface LinkRow extends AudienceLink {
  destinationName: string
  /** What was acknowledged there is the membership. */
  inStep: boolean
}

/** An audience as its syncs need it: with its secrets in clear. */
export interface StoredAudience extends Omit<Audience, 'membership'> {
  membership: Membership
  /** Id of the row set that is its membership: the one that was taken over last; null before the first. */
  rowSet: string | null
  etag: string | null
  /** The connected destinations. */
  links: LinkRow[]
}

/** Connection strings and header values are stored sealed and leave this module for syncs only. */
export interface AudienceStore {
  list(request: PageRequest): Promise<Page<Audience>>
  /** @throws AppError not_found */
  get(id: string): Promise<Audience>
  /** The audience with its secrets, also while it is being deleted. @throws AppError not_found */
  getStored(id: string): Promise<StoredAudience>
  /** @throws AppError bad_request when a destination does not exist; conflict when it has another audience's key, or its name
   *  where that is not wanted */
  create(input: NewAudience & { key: string }, names?: NameRule): Promise<Audience>
  /** @param options.newKey  the key to take from now on: nothing counts as acknowledged under it
   *  @throws AppError not_found, bad_request, conflict; what `options.check` throws */
  update(id: string, patch: AudiencePatch, options?: ChangeRule & { newKey?: string | undefined }): Promise<Audience>
  setPaused(id: string, paused: boolean): Promise<Audience>
  /** Hides an audience; the sync that follows removes its data.
   *  @param notify  its destinations stay connected until their members have been told
   *  @throws AppError not_found */
  markDeleted(id: string, notify: boolean): Promise<void>
}

const selectAudiences = `
  select a.*, ${positionSql},
    (select coalesce(json_agg(json_build_object('link', l.link, 'destinationId', l.destination_id,
       'destinationName', d.name, 'inStep', l.in_step) order by l.link), '[]')
     from audience_links l join destinations d on d.id = l.destination_id where l.audience_id = a.id and l.connected) as links
  from audiences a`

export function createAudienceStore(database: Database, secrets: SecretBox): AudienceStore {
  const toStored = (row: AudienceRow): StoredAudience => ({
    id: row.id,
    name: row.name,
    key: row.key,
    kind: row.kind,
    destinationIds: row.links.map(({ destinationId }) => destinationId),
    membership: MembershipSchema.parse(JSON.parse(secrets.open(row.membership_encrypted))),
    schedule: row.schedule,
    paused: row.paused,
    maxBadRowShare: row.max_bad_row_share,
    maxRemovalShare: row.max_removal_share,
    maxPerSecond: row.max_per_second,
    members: Number(row.members),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    rowSet: row.load,
    etag: row.etag,
    links: row.links,
  })

  const toAudience = (row: AudienceRow): Audience => {
    const { rowSet: _rowSet, etag: _etag, links: _links, membership, ...audience } = toStored(row)
    return { ...audience, membership: viewOf(membership) }
  }

  const read = async (queryable: Queryable, id: string, deletedToo = false): Promise<AudienceRow> => {
    const [row] = await queryable.query<AudienceRow>(
      `${selectAudiences} where id = $1 and (deleted_at is null or $2)`,
      [id, deletedToo],
    )
    if (row === undefined) throw new AppError('not_found', `no audience has the id ${id}`)
    return row
  }

  const connect = async (tx: Queryable, id: string, key: string, destinationIds: string[]): Promise<void> => {
    const wanted = [...new Set(destinationIds)]
    const rows = await tx.query<{ id: string }>('select id from destinations where id = any($1::text[])', [wanted])
    const known = new Set(rows.map((row) => row.id))
    const missing = destinationIds.findIndex((destinationId) => !known.has(destinationId))
    if (missing !== -1) {
      const path = `destinationIds[${missing}]`
      throw new AppError('bad_request', `${path}: no destination has the id ${String(destinationIds[missing])}`, {
        path,
      })
    }
    const [taken] = await tx.query<{ name: string; destination: string }>(
      `select a.name, d.name as destination from audience_links l
         join audiences a on a.id = l.audience_id join destinations d on d.id = l.destination_id
       where l.connected and l.key = $1 and l.destination_id = any($2::text[]) and l.audience_id <> $3 limit 1`,
      [key, wanted, id],
    )
    if (taken !== undefined)
      throw new AppError(
        'conflict',
        `the audience "${taken.name}" already has the key ${key} in the destination "${taken.destination}": ` +
          'choose another name, which makes another key, or leave out that destination',
      )
    await tx.query(
      `update audience_links set connected = false, in_step = false
       where audience_id = $1 and not destination_id = any($2::text[])`,
      [id, wanted],
    )
    await tx.query(
      `insert into audience_links (audience_id, destination_id, key) select $1, unnest($2::text[]), $3
       on conflict (audience_id, destination_id) do update set connected = true, key = excluded.key`,
      [id, wanted, key],
    )
  }

  const forgetAcknowledged = async (tx: Queryable, id: string): Promise<void> => {
    const [busy] = await tx.query(
      `select 1 from audience_syncs where audience_id = $1 and status in ('waiting', 'running') limit 1`,
      [id],
    )
    if (busy !== undefined) throw new AppError('conflict', 'a sync is running: change the key when it has ended')
    const links = 'select link from audience_links where audience_id = $1'
    await tx.query(`delete from audience_acknowledged where link in (${links})`, [id])
    await tx.query(`delete from audience_handed_on where link in (${links})`, [id])
    await tx.query('update audience_links set in_step = false where audience_id = $1', [id])
  }

  return {
    async list(request) {
      const start = startOfPage(request)
      const rows = await database.query<AudienceRow & { position: string }>(
        `${selectAudiences} where deleted_at is null and (created_at, id) > ($1::timestamptz, $2)
         order by created_at, id limit $3`,
        [start.created_at, start.id, request.limit + 1],
      )
      return pageOf(rows, request, toAudience)
    },
    get: async (id) => toAudience(await read(database, id)),
    getStored: async (id) => toStored(await read(database, id, true)),
    create: (input, names = {}) =>
      database.transaction(async (tx) => {
        const id = newAudienceId()
        await holdToNameRule(tx, 'audience', { id, name: input.name }, names)
        await tx.query(
          `insert into audiences (id, name, key, kind, membership_kind, membership_encrypted, schedule,
             max_bad_row_share, max_removal_share, max_per_second, created_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp())`,
          [
            id,
            input.name,
            input.key,
            input.kind,
            input.membership.kind,
            secrets.seal(JSON.stringify(input.membership)),
            input.schedule ? JSON.stringify(input.schedule) : null,
            input.maxBadRowShare,
            input.maxRemovalShare,
            input.maxPerSecond,
          ],
        )
        await connect(tx, id, input.key, input.destinationIds)
        return toAudience(await read(tx, id))
      }),
    update: (id, patch, { newKey, check, ...names } = {}) =>
      database.transaction(async (tx) => {
        // One change at a time from here on.
        await tx.query('select 1 from audiences where id = $1 for update', [id])
        const row = await read(tx, id)
        check?.(toAudience(row))
        const before = toStored(row)
        await holdToNameRule(tx, 'audience', { id, name: patch.name }, names)
        const membership = patch.membership && withKeptSecrets(patch.membership, before.membership)
        if (newKey !== undefined) await forgetAcknowledged(tx, id)
        await tx.query(
          `update audiences set name = $2, key = $3, membership_kind = $4, membership_encrypted = coalesce($5, membership_encrypted),
             etag = case when $5::text is null then etag end, schedule = $6, max_bad_row_share = $7, max_removal_share = $8,
             max_per_second = $9, updated_at = now() where id = $1`,
          [
            id,
            patch.name ?? before.name,
            newKey ?? before.key,
            (membership ?? before.membership).kind,
            membership === undefined ? null : secrets.seal(JSON.stringify(membership)),
            jsonOrNull(patch.schedule === undefined ? before.schedule : patch.schedule),
            patch.maxBadRowShare ?? before.maxBadRowShare,
            patch.maxRemovalShare ?? before.maxRemovalShare,
            patch.maxPerSecond === undefined ? before.maxPerSecond : patch.maxPerSecond,
          ],
        )
        if (patch.destinationIds !== undefined || newKey !== undefined)
          await connect(tx, id, newKey ?? before.key, patch.destinationIds ?? before.destinationIds)
        return toAudience(await read(tx, id))
      }),
    async setPaused(id, paused) {
      await database.query('update audiences set paused = $2, updated_at = now() where id = $1', [id, paused])
      return toAudience(await read(database, id))
    },
    markDeleted: (id, notify) =>
      database.transaction(async (tx) => {
        await keepName(tx, await read(tx, id))
        await tx.query('update audiences set deleted_at = now() where id = $1', [id])
        if (!notify) await tx.query('update audience_links set connected = false where audience_id = $1', [id])
      }),
  }
}

const jsonOrNull = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value)

function viewOf(membership: Membership): MembershipView {
  switch (membership.kind) {
    case 'push':
      return membership
    case 'http': {
      const { headers = {}, ...rest } = membership
      return { ...rest, headerNames: Object.keys(headers) }
    }
    case 'sql': {
      const { connectionString = '', ...rest } = membership
      const { host, database } = parseSqlSource(connectionString)
      return { ...rest, host, database }
    }
  }
}

/** Secrets that a change leaves out stay; headers only towards the same origin. */
function withKeptSecrets(next: Membership, before: Membership): Membership {
  if (next.kind === 'sql' && next.connectionString === undefined) {
    if (before.kind === 'sql') return { ...next, connectionString: before.connectionString }
    throw new AppError('bad_request', 'membership.connectionString is missing', {
      path: 'membership.connectionString',
    })
  }
  const keepsHeaders =
    next.kind === 'http' &&
    next.headers === undefined &&
    before.kind === 'http' &&
    new URL(next.url).origin === new URL(before.url).origin
  return keepsHeaders ? { ...next, headers: before.headers } : next
}
