/** `postrider doctor`: what is wrong, and how to mend it. */

import { Command } from 'commander'
import type { Check } from './doctor/check.ts'
import { checkNode } from './doctor/node.ts'
import { isLoopback } from './shared/addresses.ts'
import { createApi } from './shared/api.ts'
import { findConnection } from './shared/connection.ts'
import { CommandError } from './shared/failure.ts'
import { printable, table } from './shared/output.ts'
import { globalsOf, outputOf } from './shared/session.ts'

/** Checks what belongs to a node on this machine: the settings in the environment, and what they lead to.
 *  @param isUp  whether that node runs */
export type CheckMachine = (isUp: boolean) => Promise<Check[]>

export const doctorCommand = (checkMachine?: CheckMachine): Command =>
  new Command('doctor')
    .description('check Temporal, database, keys, disk, clock and addresses; say what is wrong and how to fix it')
    .addHelpText(
      'after',
      [
        '',
        'It checks the node through its API and, for a node on this machine, the settings in the environment and what they',
        'lead to. Exit code 1: there is a problem; warnings alone end with 0.',
      ].join('\n'),
    )
    .action(async (_options: unknown, self: Command) => {
      const { address, token } = await findConnection(globalsOf(self), process.env)
      const out = outputOf(self)
      const node = await checkNode(createApi(address, token))
      const checks = [...node.checks, ...((isLoopback(address) && (await checkMachine?.(node.isUp))) || [])]
      const problems = checks.filter(({ state }) => state === 'problem').length
      out.result({ address, ok: problems === 0, checks }, () => asText(checks))
      if (problems > 0) throw new CommandError('failed', `${problems} problem${problems === 1 ? '' : 's'} found`)
    })

const asText = (checks: Check[]): string =>
  [
    table(
      ['', 'check', 'result'],
      checks.map(({ name, state, found }) => [state, name, found]),
      '',
    ),
    ...checks.flatMap(({ name, mend }) => (mend === undefined ? [] : ['', `${name}: ${printable(mend)}`])),
  ].join('\n')
