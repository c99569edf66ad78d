/** What has to be done so that a node has the settings of a file. */

import { createTwoFilesPatch } from 'diff'
import { settingsKinds } from '../../schemas/settings-change.ts'
import { pick } from '../shared/lookup.ts'
import { environmentVariable } from '../shared/options.ts'
import type { Current } from './current.ts'
import { refOf, type Change, type PlanContext, type PlanOptions } from './change.ts'
import { toYaml, type SettingsFile } from './file.ts'
import { planAlertChannels, planAlertRules } from './plan-alerts.ts'
import { planAudiences } from './plan-audiences.ts'
import { planDestinations } from './plan-destinations.ts'
import { planSources } from './plan-sources.ts'

/** Changes in the order in which they can be applied; none when the node has the settings of the file already.
 *  @throws CommandError when the file names what does not exist, or a secret is missing */
export function planChanges(
  current: Current,
  file: SettingsFile,
  options: PlanOptions,
  env: NodeJS.ProcessEnv,
): Change[] {
  const context: PlanContext = {
    ...options,
    current,
    file,
    secret: ({ env: name }) => environmentVariable(env, name),
    idOf: (kind, name) => {
      const things: { id: string; name: string }[] = current[kind]
      const isNew = !things.some((thing) => thing.name === name) && file[kind].some((entry) => entry.name === name)
      return isNew ? refOf(kind, name) : pick(kind === 'sources' ? 'source' : 'destination', things, name).id
    },
  }
  const planned = [
    planSources(context),
    planDestinations(context),
    planAudiences(context),
    planAlertRules(context),
    planAlertChannels(context),
  ]
  return [
    ...planned.flat().filter(({ action }) => action !== 'delete'),
    ...planned
      .reverse()
      .flat()
      .filter(({ action }) => action === 'delete'),
  ]
}

/** A unified diff from the node to the file; empty without changes. */
export function diffOf(changes: Change[]): string {
  if (changes.length === 0) return ''
  const side = (which: 'before' | 'after'): string => {
    const sections = settingsKinds.flatMap((kind) => {
      const views = changes.flatMap((change) => (change.kind === kind ? (change[which] ?? []) : []))
      return views.length === 0 ? [] : [[kind, kind === 'alertRules' ? views[0] : views] as const]
    })
    return sections.length === 0 ? '' : toYaml(Object.fromEntries(sections))
  }
  return createTwoFilesPatch('node', 'file', side('before'), side('after'), undefined, undefined, { context: 4 })
}
