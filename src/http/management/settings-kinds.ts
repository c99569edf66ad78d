/** How each kind of settings is changed within a transaction. */

import type { z } from 'zod'
import { createAlertChannel, deleteAlertChannel, getAlertChannel, updateAlertChannel } from '../../db/alert-channels.ts'
import { readAlertRules, replaceAlertRules } from '../../db/alert-rules.ts'
import { createAudienceStore } from '../../db/audiences.ts'
import { requestSync } from '../../db/audiences-syncs.ts'
import type { Database } from '../../db/database.ts'
import { createDestinationStore } from '../../db/destinations.ts'
import { createSource, deleteSource, getSource, updateSource } from '../../db/sources.ts'
import type { PullGuard } from '../../audiences/pull-http.ts'
import type { AddressGuard } from '../../delivery/guard-address.ts'
import { AppError } from '../../errors.ts'
import { AlertChannelPatchSchema, AlertRulesSchema, NewAlertChannelSchema } from '../../schemas/alert.ts'
import { NewAudienceSchema, type Audience } from '../../schemas/audience.ts'
import { DestinationPatchSchema, NewDestinationSchema } from '../../schemas/destination.ts'
import { memberOf } from '../../schemas/plain-words.ts'
import { PausablePatchSchema, type SettingsKind } from '../../schemas/settings-change.ts'
import { NewSourceSchema, SourcePatchSchema } from '../../schemas/source.ts'
import type { SecretBox } from '../../secrets.ts'
import { checkChannel } from './check-channel.ts'
import { checkMapping } from './check-mapping.ts'
import { checkMembership } from './check-membership.ts'
import { checkSchedule } from './check-schedule.ts'
import { checkWebhooks } from './check-webhooks.ts'
import { changedKey, keyOf } from './audience-keys.ts'

export interface ChangeDependencies {
  secrets: SecretBox
  guard: AddressGuard
  pullGuard: PullGuard
}

/** When an audience is synced, before and after a change. */
export interface ChangedSchedule {
  id: string
  before: Pick<Audience, 'schedule' | 'paused'>
  after: Pick<Audience, 'schedule' | 'paused'>
}

/** What a kind can do; each throws an AppError when it is refused. */
export interface SettingsActions {
  /** What it is called in paths and in the audit log. */
  resource: string
  get(id: string): Promise<object>
  create(body: unknown): Promise<{ id: string }>
  update(id: string, body: unknown): Promise<unknown>
  delete(id: string): Promise<unknown>
}

/** Things that have names are known by them. */
const names = { uniqueName: true }

/** @param idOf  the id that a ref stands for
 *  @param reschedule  takes what becomes of the schedules */
export function settingsIn(
  database: Database,
  { secrets, guard, pullGuard }: ChangeDependencies,
  idOf: (ref: string) => string,
  reschedule: (change: ChangedSchedule) => void,
): Record<SettingsKind, SettingsActions> {
  const destinations = createDestinationStore(database, secrets)
  const audiences = createAudienceStore(database, secrets)
  return {
    sources: {
      resource: 'sources',
      get: (id) => getSource(database, id),
      create: async (body) => createSource(database, read(NewSourceSchema, body), names),
      update: async (id, body) => updateSource(database, id, read(SourcePatchSchema, body), names),
      delete: (id) => deleteSource(database, id),
    },
    destinations: {
      resource: 'destinations',
      get: (id) => destinations.get(id),
      async create(body) {
        const input = read(NewDestinationSchema, body)
        checkWebhooks(input.settings.webhooks, guard)
        checkMapping(input.mapping)
        return destinations.create({ ...input, sourceIds: input.sourceIds.map(idOf) }, names)
      },
      async update(id, body) {
        const { sourceIds, ...patch } = read(DestinationPatchSchema, body)
        checkWebhooks(patch.settings?.webhooks ?? [], guard)
        checkMapping(patch.mapping)
        const connected = sourceIds && { sourceIds: sourceIds.map(idOf) }
        return destinations.update(id, { ...patch, ...connected }, names)
      },
      delete: (id) => destinations.delete(id),
    },
    audiences: {
      resource: 'audiences',
      get: (id) => audiences.get(id),
      async create(body) {
        const { key, destinationIds, ...input } = read(NewAudienceSchema, body)
        checkMembership(input.membership, pullGuard, { isNew: true })
        checkSchedule(input.schedule, null)
        const whole = { ...input, key: key ?? keyOf(input.name), destinationIds: destinationIds.map(idOf) }
        const made = await audiences.create(whole, names)
        if (made.schedule !== null) reschedule({ id: made.id, before: { schedule: null, paused: false }, after: made })
        return made
      },
      async update(id, body) {
        const { paused, destinationIds, ...patch } = read(PausablePatchSchema, body)
        if (patch.membership !== undefined) checkMembership(patch.membership, pullGuard, { isNew: false })
        const before = await audiences.get(id)
        checkSchedule(patch.schedule, before.schedule)
        const connected = destinationIds && { destinationIds: destinationIds.map(idOf) }
        let after = await audiences.update(
          id,
          { ...patch, ...connected },
          { ...names, newKey: changedKey(before, patch) },
        )
        if (paused !== undefined) after = await audiences.setPaused(id, paused)
        if (patch.schedule !== undefined || paused !== undefined) reschedule({ id, before, after })
        return after
      },
      async delete(id) {
        await audiences.markDeleted(id, false)
        await requestSync(database, { audienceId: id, kind: 'delete' })
      },
    },
    alertRules: {
      resource: 'alert-rules',
      get: () => readAlertRules(database),
      create: onlyUpdated,
      async update(_id, body) {
        const rules = read(AlertRulesSchema, body)
        await replaceAlertRules(database, rules)
        return rules
      },
      delete: onlyUpdated,
    },
    alertChannels: {
      resource: 'alert-channels',
      get: (id) => getAlertChannel(database, secrets, id),
      async create(body) {
        const input = read(NewAlertChannelSchema, body)
        checkChannel(input.settings, guard)
        return createAlertChannel(database, secrets, input)
      },
      async update(id, body) {
        const patch = read(AlertChannelPatchSchema, body)
        checkChannel(patch.settings, guard)
        return (await updateAlertChannel(database, secrets, id, patch)).channel
      },
      delete: (id) => deleteAlertChannel(database, id),
    },
  }
}

const onlyUpdated = (): Promise<never> =>
  Promise.reject(new AppError('bad_request', 'action: the rules of alerts can only be updated', { path: 'action' }))

/** @throws AppError bad_request with the first member at fault */
function read<Body>(schema: z.ZodType<Body>, body: unknown): Body {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = issue === undefined ? '' : memberOf(issue)
  throw new AppError('bad_request', `${path || 'the body'} ${issue?.message}`, path === '' ? {} : { path })
}
