/** The commands that need the whole of Postrider: they run a node, or work on its database. */

import { Command, Option } from 'commander'
import { keysCommand } from './keys.ts'
import { migrateCommand } from './migrate.ts'
import type { Installed } from './program.ts'
import { outputOf } from './shared/session.ts'

/** The roles that `--role` stands for, as `POSTRIDER_ROLES` has them. */
const rolesOf = { api: 'api', worker: 'worker', all: 'api,worker' }

const startCommand = (): Command =>
  new Command('start')
    .description('run a node: API, web app and worker')
    .addOption(
      new Option('--role <role>', 'what it does: api, worker or all (also: POSTRIDER_ROLES)').choices(
        Object.keys(rolesOf),
      ),
    )
    .addHelpText(
      'after',
      [
        '',
        'Environment variables configure the node; each has a default: PORT, POSTRIDER_DATA_DIR, DATABASE_URL, TEMPORAL_ADDRESS',
        'and others (docs/configuration.md). Ctrl-C lets running attempts finish, then stops the node.',
      ].join('\n'),
    )
    .action(async ({ role }: { role?: keyof typeof rolesOf }, self: Command) => {
      // Loaded only here: a node's libraries take a second.
      const { start } = await import('./start.ts')
      await start(outputOf(self), role && rolesOf[role])
    })

export const whole = (): Installed => ({
  commands: [startCommand(), migrateCommand(), keysCommand()],
  lacking: [],
  async checkMachine(isUp) {
    // Loaded only here: they need the database's and Temporal's libraries.
    const { checkMachine } = await import('./doctor/machine.ts')
    return checkMachine(process.env, isUp)
  },
})
