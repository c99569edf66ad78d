/** `postrider apply`: makes the settings of a node those of a file. */

import { Command } from 'commander'
import pc from 'picocolors'
import type { Change } from './settings/change.ts'
import { readCurrent } from './settings/current.ts'
import { readSettingsFile } from './settings/file.ts'
import { diffOf, planChanges } from './settings/plan.ts'
import { readInput } from './shared/input.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

interface ApplyOptions {
  dryRun?: true
  yes?: true
  prune?: true
  updateSecrets?: true
}

export const applyCommand = (): Command =>
  new Command('apply')
    .description('make the settings of the node those of a file, after showing what that changes')
    .argument('<file>', 'YAML or JSON, as `export` writes it; - for standard input')
    .option('--dry-run', 'only show what would change')
    .option('--yes', 'do not ask')
    .option('--prune', 'delete what the file does not have')
    .option('--update-secrets', 'set secrets also where there is one already')
    .action(async (file: string, options: ApplyOptions, self: Command) => apply(file, options, self))

async function apply(path: string, options: ApplyOptions, command: Command): Promise<void> {
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
