import { AppError } from '../errors.ts'
import { newDestinationId } from '../ids.ts'
import type { Destination, DestinationPatch, NewDestination } from '../schemas/destination.ts'
import type { SecretBox } from '../secrets.ts'
import { connectSources, replaceEndpoints, replaceSecret, setPaused } from './change-destination.ts'
import type { ChangeRule } from './change-rule.ts'
import type { Database, Queryable } from './database.ts'
import { keepName } from './deleted-names.ts'
import { endUnwantedHold } from './destination-holds.ts'
import { requestRecheck } from './destination-rechecks.ts'
import { replaceMapping } from './mappings.ts'
import { pageOf, startOfPage, type Page, type PageRequest } from './page.ts'
import { raiseSettingsVersion } from './settings-version.ts'
import { holdToNameRule, type NameRule } from './unique-name.ts'
import {
  selectDestinations,
  toDestination,
  toStored,
  type DestinationRow,
  type StoredDestination,
} from './stored-destination.ts'

/** Secrets and header values leave this module in clear and are stored sealed. */
export interface DestinationStore {
  list(request: PageRequest): Promise<Page<Destination>>
  /** @param ids  only these; all of them when it is left out */
  all(ids?: readonly string[]): Promise<StoredDestination[]>
  /** @throws AppError not_found */
  get(id: string): Promise<Destination>
  /** @throws AppError bad_request when a source does not exist; conflict when the name is another's and that is not wanted */
  create(input: NewDestination, names?: NameRule): Promise<Destination>
  /** @throws AppError not_found; bad_request when a source or an entry's id does not exist; conflict as for `create`; what `rule.check` throws */
  update(id: string, patch: DestinationPatch, rule?: ChangeRule): Promise<Destination>
  /** @throws AppError not_found */
  delete(id: string): Promise<void>
}

export function createDestinationStore(database: Database, secrets: SecretBox): DestinationStore {
  const sealed = (secret: string | null): string | null => (secret === null ? null : secrets.seal(secret))
  const shown = (row: DestinationRow): Destination => toDestination(row, secrets)
  const read = async (from: Queryable, id: string): Promise<Destination> => {
    const [row] = await from.query<DestinationRow>(`${selectDestinations} where d.id = $1`, [id])
    if (row === undefined) throw notFound(id)
    return shown(row)
  }

  return {
    async list(request) {
      const start = startOfPage(request)
      const rows = await database.query<DestinationRow & { position: string }>(
        `${selectDestinations} where (created_at, id) > ($1::timestamptz, $2) order by created_at, id limit $3`,
        [start.created_at, start.id, request.limit + 1],
      )
      return pageOf(rows, request, shown)
    },
    async all(ids) {
      const [which, values] = ids === undefined ? ['', []] : ['where d.id = any($1::text[])', [[...ids]]]
      const rows = await database.query<DestinationRow>(`${selectDestinations} ${which}`, values)
      return rows.map((row) => toStored(row, secrets))
    },
    get: (id) => read(database, id),
    create: (input, names = {}) =>
      database.transaction(async (tx) => {
        const id = newDestinationId()
        await raiseSettingsVersion(tx)
        await holdToNameRule(tx, 'destination', { id, name: input.name }, names)
        await insertDestination(tx, id, input, sealed(input.settings.sharedSecret ?? null))
        if (input.mapping) await replaceMapping(tx, id, input.mapping)
        await connectSources(tx, id, input.sourceIds)
        await replaceEndpoints(tx, id, input.settings.webhooks, secrets)
        return read(tx, id)
      }),
    update: (id, patch, { check, ...names } = {}) =>
      database.transaction(async (tx) => {
        // One change at a time from here on.
        await raiseSettingsVersion(tx)
        check?.(await read(tx, id))
        await holdToNameRule(tx, 'destination', { id, name: patch.name }, names)
        await updateDestination(tx, id, patch)
        if (patch.mapping !== undefined) await replaceMapping(tx, id, patch.mapping)
        if (patch.paused !== undefined) await setPaused(tx, id, patch.paused)
        if (patch.paused === false || patch.enabled === false) await requestRecheck(tx, id)
        await endUnwantedHold(tx, id)
        if (patch.sourceIds !== undefined) await connectSources(tx, id, patch.sourceIds)
        const { sharedSecret, secretOverlapSeconds = 0, webhooks } = patch.settings ?? {}
        if (sharedSecret !== undefined) await replaceSecret(tx, id, sealed(sharedSecret), secretOverlapSeconds)
        if (webhooks !== undefined) await replaceEndpoints(tx, id, webhooks, secrets)
        return read(tx, id)
      }),
    delete: (id) =>
      database.transaction(async (tx) => {
        await raiseSettingsVersion(tx)
        const [deleted] = await tx.query<{ id: string; name: string }>(
          'delete from destinations where id = $1 returning id, name',
          [id],
        )
        if (deleted === undefined) throw notFound(id)
        await keepName(tx, deleted)
        await requestRecheck(tx, id)
      }),
  }
}

async function insertDestination(
  tx: Queryable,
  id: string,
  input: NewDestination,
  sealedSecret: string | null,
): Promise<void> {
  const { name, type, enabled, successPolicy, onFailing = 'retry', holdAfterSeconds = 300 } = input
  const { retryWindowHours = null, retryPauses = null, orderPerUser, filter = null } = input
  await tx.query(
    `insert into destinations (id, name, type, enabled, success_policy, shared_secret_encrypted, filter,
       on_failing, hold_after_seconds, retry_window_hours, retry_pauses, order_wait_seconds, created_at)
     values ($1, $2, $3, $4, $5, $6, $7::json, $8, $9, $10, $11::json, $12, clock_timestamp())`,
    [
      ...[id, name, type, enabled, successPolicy, sealedSecret, jsonOf(filter)],
      ...[onFailing, holdAfterSeconds, retryWindowHours, jsonOf(retryPauses), orderPerUser?.maxWaitSeconds ?? null],
    ],
  )
}

async function updateDestination(tx: Queryable, id: string, patch: DestinationPatch): Promise<void> {
  const { name, enabled, successPolicy, onFailing, holdAfterSeconds, filter } = patch
  const { retryWindowHours, retryPauses, orderPerUser } = patch
  const rows = await tx.query(
    `update destinations set name = coalesce($2, name), enabled = coalesce($3, enabled),
       success_policy = coalesce($4, success_policy), filter = case when $5 then $6::json else filter end,
       on_failing = coalesce($7, on_failing), hold_after_seconds = coalesce($8, hold_after_seconds),
       retry_window_hours = case when $9 then $10::int else retry_window_hours end,
       retry_pauses = case when $11 then $12::json else retry_pauses end,
       order_wait_seconds = case when $13 then $14::int else order_wait_seconds end,
       updated_at = now() where id = $1 returning id`,
    [
      id,
      name ?? null,
      enabled ?? null,
      successPolicy ?? null,
      filter !== undefined,
      jsonOf(filter ?? null),
      onFailing ?? null,
      holdAfterSeconds ?? null,
      retryWindowHours !== undefined,
      retryWindowHours ?? null,
      retryPauses !== undefined,
      jsonOf(retryPauses ?? null),
      orderPerUser !== undefined,
      orderPerUser?.maxWaitSeconds ?? null,
    ],
  )
  if (rows.length === 0) throw notFound(id)
}

const jsonOf = (value: object | null): string | null => (value === null ? null : JSON.stringify(value))

const notFound = (id: string): AppError => new AppError('not_found', `no destination has the id ${id}`)
