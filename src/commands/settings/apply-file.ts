/** What `postrider apply` does. */

import type { Command } from 'commander'
import pc from 'picocolors'
import { CommandError } from '../shared/failure.ts'
import { readInput } from '../shared/input.ts'
import type { Output } from '../shared/output.ts'
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
  await checkAll(changes)
  if (options.dryRun) {
    out.result({ ...result, applied: false }, () => inColor(diff))
    throw new CommandError('differs', `the node differs from the file: ${countOf(changes)}`)
  }
  out.note(inColor(diff))
  await confirm(`Apply ${countOf(changes)}?`, options)
  await applyAll(changes, out)
  out.result({ ...result, applied: true }, () => 'Applied.')
}

/** Asks the node about all changes before the first one is made.
 *  @throws CommandError with all that it refuses */
async function checkAll(changes: Change[]): Promise<void> {
  const faults: string[] = []
  for (const change of changes) {
    try {
      await change.check?.()
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== 'bad_request') throw error
      faults.push(`${nameOf(change)}: ${error.message}`)
    }
  }
  if (faults.length > 0) throw new CommandError('failed', `nothing was changed: ${faults.join('\n  ')}`)
}

/** @throws CommandError that says how far it came */
async function applyAll(changes: Change[], out: Output): Promise<void> {
  for (const [done, change] of changes.entries()) {
    out.note(`${change.action} ${nameOf(change)}`)
    await change.apply().catch((error: unknown) => {
      if (!(error instanceof CommandError)) throw error
      const soFar = done === 0 ? 'nothing was changed' : `${done} of ${changes.length} changes are made`
      throw new CommandError(error.exit, `${nameOf(change)}: ${error.message} (${soFar}; apply again to continue)`, {
        code: error.code,
        cause: error,
      })
    })
  }
}

const countOf = ({ length }: Change[]): string => (length === 1 ? '1 change' : `${length} changes`)

const nameOf = ({ kind, name }: Change): string => `${kind}: ${name}`

const inColor = (diff: string): string =>
  diff
    .split('\n')
    .map((line) => (line.startsWith('+') ? pc.green(line) : line.startsWith('-') ? pc.red(line) : line))
    .join('\n')
