/** Many changes of settings in one transaction of the database. */

import { maskSecrets } from '../../access/mask.ts'
import { writeAuditEntry } from '../../db/audit-log.ts'
import { databaseIn, type Database, type Queryable } from '../../db/database.ts'
import { AppError, PartAwayError } from '../../errors.ts'
import type { SettingsChange } from '../../schemas/settings-change.ts'
import { putSchedule } from '../../temporal/audience-schedules.ts'
import type { Temporal } from '../../temporal/connection.ts'
import { withSecretsSet } from './audit-log-hooks.ts'
import type { PartLimits } from './part-limits.ts'
import { settingsIn, type ChangedSchedule, type ChangeDependencies, type SettingsActions } from './settings-kinds.ts'

export interface ApplyDependencies extends ChangeDependencies {
  database: Database
  temporal: Temporal
  partLimits: Pick<PartLimits, 'whilePresent'>
}

/** Most faults that an answer names. */
const maxFaults = 20

/** Makes all changes, or none of them.
 *  @param dryRun  makes none of them in any case
 *  @returns whether they were made
 *  @throws AppError that names each change that is refused */
export async function applyChanges(
  dependencies: ApplyDependencies,
  changes: SettingsChange[],
  { actor, dryRun }: { actor: string; dryRun: boolean },
): Promise<boolean> {
  const { database, temporal, partLimits } = dependencies
  const put = (id: string, { schedule, paused }: ChangedSchedule['after']): Promise<void> =>
    partLimits.whilePresent(['temporal'], () => putSchedule(temporal, id, schedule, paused))
  const begun: ChangedSchedule[] = []
  try {
    await database.transaction(async (tx) => {
      const schedules = await changeAll(tx, dependencies, changes, actor)
      if (dryRun) throw new DryRun()
      // Last of all, as Temporal takes no part in the transaction.
      for (const schedule of schedules) {
        begun.unshift(schedule)
        await put(schedule.id, schedule.after)
      }
    })
    return true
  } catch (error) {
    if (error instanceof DryRun) return false
    for (const { id, before } of begun) await put(id, before).catch(() => {})
    if (!(error instanceof AppError) || error instanceof PartAwayError) throw error
    throw new AppError(error.code, `nothing was changed: ${error.message}`, { cause: error })
  }
}

/** Ends the transaction of a dry run. */
class DryRun extends Error {}

/** A change that refers to one that was refused: that one is told. */
class FollowsRefused extends Error {}

/** @returns what becomes of schedules
 *  @throws AppError that names each change that is refused */
async function changeAll(
  tx: Queryable,
  dependencies: ChangeDependencies,
  changes: SettingsChange[],
  actor: string,
): Promise<ChangedSchedule[]> {
  /** Ids by ref; null where the change was refused. */
  const made = new Map<string, string | null>()
  const idOf = (ref: string): string => {
    const id = made.get(ref)
    if (id === null) throw new FollowsRefused()
    return id ?? ref
  }
  const schedules: ChangedSchedule[] = []
  const kinds = settingsIn(databaseIn(tx), dependencies, idOf, (schedule) => schedules.push(schedule))
  const refused: { name: string; error: AppError }[] = []
  for (const change of changes) {
    const { kind, action, ref, id = '' } = change
    let name = nameIn(change.body) ?? (kind === 'alertRules' ? 'rules' : id)
    const subject = { tx, actions: kinds[kind], actor }
    try {
      if (action === 'create') {
        const created = await create(subject, change.body)
        if (ref !== undefined) made.set(ref, created)
      } else {
        const target = idOf(id)
        const before = await kinds[kind].get(target)
        name = nameIn(before) ?? name
        await (action === 'update' ? update(subject, target, before, change.body) : remove(subject, target, before))
      }
    } catch (error) {
      if (ref !== undefined) made.set(ref, null)
      if (error instanceof FollowsRefused) continue
      if (!(error instanceof AppError)) throw error
      refused.push({ name: `${kind}: ${name}`, error })
    }
  }
  const [first] = refused
  if (first === undefined) return schedules
  const faults = refused.slice(0, maxFaults).map(({ name, error }) => `${name}: ${error.message.replace(/\.$/, '')}`)
  throw new AppError(first.error.code, faults.join('; '))
}

interface Subject {
  tx: Queryable
  actions: SettingsActions
  actor: string
}

/** @returns its id */
async function create({ tx, actions, actor }: Subject, body: unknown): Promise<string> {
  const { resource } = actions
  const made = await actions.create(body)
  const entry = { actor, action: `${resource}.create`, subject: `${resource}/${made.id}`, before: null }
  await writeAuditEntry(tx, entry, withSecretsSet(maskSecrets(made), body))
  return made.id
}

async function update({ tx, actions, actor }: Subject, id: string, before: object, body: unknown): Promise<void> {
  const { resource } = actions
  const after = await actions.update(id, body)
  const subject = id === '' ? resource : `${resource}/${id}`
  const entry = { actor, action: `${resource}.update`, subject, before: maskSecrets(before) }
  await writeAuditEntry(tx, entry, withSecretsSet(maskSecrets(after), body))
}

async function remove({ tx, actions, actor }: Subject, id: string, before: object): Promise<void> {
  const { resource } = actions
  await actions.delete(id)
  const entry = { actor, action: `${resource}.delete`, subject: `${resource}/${id}`, before: maskSecrets(before) }
  await writeAuditEntry(tx, entry, null)
}

const nameIn = (body: unknown): string | undefined => {
  const name = typeof body === 'object' && body !== null && 'name' in body ? body.name : undefined
  return typeof name === 'string' ? name : undefined
}
