/** What `postrider apply` does. */

import { answerOf } from '@postrider/api'
import type { Command } from 'commander'
import pc from 'picocolors'
import type { Api } from '../shared/api.ts'
import { CommandError } from '../shared/failure.ts'
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
  const changes = planChanges(await readCurrent(api), file, { prune, updateSecrets }, process.env)
  const diff = diffOf(changes)
  const result = { changes: changes.map(({ kind, action, name }) => ({ kind, action, name })), diff }
  if (changes.length === 0) return out.result({ ...result, applied: false }, () => 'No change.')
  await request(api, changes, true)
  if (options.dryRun) {
    out.result({ ...result, applied: false }, () => inColor(diff))
    throw new CommandError('differs', `the node differs from the file: ${countOf(changes)}`)
  }
  out.note(inColor(diff))
  await confirm(`Apply ${countOf(changes)}?`, options)
  await request(api, changes, false)
  out.result({ ...result, applied: true }, () => 'Applied.')
}

/** Has the node make all changes, or none.
 *  @param dryRun  has it only try them
 *  @throws CommandError that names each change that it refuses */
async function request(api: Api, changes: Change[], dryRun: boolean): Promise<void> {
  const steps = changes.flatMap(({ kind, steps }) => steps.map((step) => ({ kind, ...step })))
  await answerOf(api.POST('/apply', { body: { dryRun, changes: steps } }))
}

const countOf = ({ length }: Change[]): string => (length === 1 ? '1 change' : `${length} changes`)

const inColor = (diff: string): string =>
  diff
    .split('\n')
    .map((line) => (line.startsWith('+') ? pc.green(line) : line.startsWith('-') ? pc.red(line) : line))
    .join('\n')
