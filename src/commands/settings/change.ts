/** A change of a node's settings, and what is needed to find it. */

import type { SettingsKind } from '../../schemas/settings-change.ts'
import { usageError } from '../shared/failure.ts'
import type { Current } from './current.ts'
import type { SecretReference, SettingsFile } from './file.ts'

/** Lists of things that have names. */
type ListKind = Exclude<SettingsKind, 'alertRules'>

/** Members of an entry as they are shown. */
export type View = Record<string, unknown>

/** Stands in a diff for a secret that is not known to be the one of the file. */
export const anotherSecret: SecretReference = { env: '(another value)' }

/** What the node is asked to do: a change as `POST /apply` takes it, of the kind that it is a part of. */
export interface Step {
  action: 'create' | 'update' | 'delete'
  /** What later steps call what is created. */
  ref?: string
  id?: string
  body?: object
}

export interface Change {
  kind: SettingsKind
  action: 'create' | 'update' | 'delete'
  name: string
  /** What it is now, of what the file says; null when it does not exist yet. */
  before: View | null
  /** What it is to be; null when it is to be deleted. */
  after: View | null
  steps: Step[]
}

export interface PlanOptions {
  /** Delete what the file does not have. */
  prune: boolean
  /** Set secrets also where there is one already: nothing shows whether it is the same one. */
  updateSecrets: boolean
}

export interface PlanContext extends PlanOptions {
  current: Current
  file: SettingsFile
  /** The secret of a reference.
   *  @throws CommandError (usage) when its variable is not set */
  secret: (reference: SecretReference) => string
  /** Id of what has the name (or the id), or the ref of what is to be created with it. */
  idOf: (kind: 'sources' | 'destinations', name: string) => string
}

/** What the node is to call a thing that is to be created: no id has a slash. */
export const refOf = (kind: ListKind, name: string): string => `${kind}/${name}`

/** @throws CommandError (usage) when neither the file nor the node has one of the names */
export function expectKnown(context: PlanContext, kind: 'sources' | 'destinations', names: string[], by: string): void {
  for (const name of names) {
    const inFile = context.file[kind].some((entry) => entry.name === name)
    if (!inFile && !context.current[kind].some((item) => item.name === name || item.id === name))
      throw usageError(`${by}: neither the file nor the node has a ${kind.slice(0, -1)} named ${name}`)
  }
}

/** Deletes those of `items` that the file does not have, if that is wanted.
 *  @param view  an item as it is shown */
export function planDeletions<Item extends { id: string; name: string }>(
  { file, prune }: PlanContext,
  kind: ListKind,
  items: Item[],
  view: (item: Item) => object,
): Change[] {
  const entries = file[kind]
  if (!prune || entries === undefined) return []
  const kept = new Set(entries.map(({ name }) => name))
  return items
    .filter(({ name }) => !kept.has(name))
    .map((item) => ({
      kind,
      action: 'delete',
      name: item.name,
      before: { ...view(item) },
      after: null,
      steps: [{ action: 'delete', id: item.id }],
    }))
}

/** The members of `whole` that `entry` has, in its order. */
export const sameMembers = (whole: View, entry: object): View =>
  Object.fromEntries(Object.keys(entry).map((name) => [name, whole[name]]))

export const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )

/** Names of the members that differ. */
export const changedMembers = (before: View, after: View): Set<string> =>
  new Set(Object.keys(after).filter((name) => !isSame(before[name], after[name])))
