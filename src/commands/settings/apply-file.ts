/** What `postrider apply` does. */

import type { Command } from 'commander'
import pc from 'picocolors'
import { readInput } from '../shared/input.ts'
import { confirm } from '../shared/prompt.ts'
import { openSession } from '../shared/session.ts'
import type { Change } from './change.ts'
import { readCurrent } from './current.ts'
import { readSettingsFile } from './file.ts'
import { diffOf, planChanges } from './plan.ts'

/** Options of the command, as they are typed. */
export interface ApplyOptions {
  dryRun?: true
  yes?: true
  prune?: true
  updateSecrets?: true
}

export async function apply(path: string, options: ApplyOptions, command: Command): Promise<void> {
  const { api, out } = await openSession(command)
  const file = readSettingsFile(await readInput(path))
  const { prune = false, updateSecrets = false } = options
  const changes = planChanges(api, await readCurrent(api), file, { prune, updateSecrets }, process.env)
  const diff = diffOf(changes)
  const result = { changes: changes.map(({ kind, action, name }) => ({ kind, action, name })), diff }
  if (changes.length === 0) return out.result({ ...result, applied: false }, () => 'No change.')
  if (options.dryRun) return out.result({ ...result, applied: false }, () => inColor(diff))
  out.note(inColor(diff))
  await confirm(`Apply ${changes.length === 1 ? 'this change' : `these ${changes.length} changes`}?`, options)
  for (const change of changes) {
    out.note(`${change.action} ${nameOf(change)}`)
    await change.apply()
  }
  out.result({ ...result, applied: true }, () => 'Applied.')
}

const nameOf = ({ kind, name }: Change): string => `${kind}: ${name}`

const inColor = (diff: string): string =>
  diff
    .split('\n')
    .map((line) => (line.startsWith('+') ? pc.green(line) : line.startsWith('-') ? pc.red(line) : line))
    .join('\n')
