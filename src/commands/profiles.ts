/** `postrider profiles`: the addresses and tokens that `login` keeps. */

import { Command } from 'commander'
import { CommandError } from './shared/failure.ts'
import { table } from './shared/output.ts'
import { readProfiles, writeProfiles, type Profiles } from './shared/profiles.ts'
import { outputOf } from './shared/session.ts'

export function profilesCommand(): Command {
  const command = new Command('profiles').description('addresses and tokens that `login` saved')

  command
    .command('list')
    .description('show the profiles, without their tokens')
    .action(async (_options: unknown, self: Command) => {
      const { current, profiles } = await readProfiles()
      const shown = Object.entries(profiles).map(([name, { address, token }]) => ({
        name,
        address,
        hasToken: token !== undefined,
        current: name === current,
      }))
      outputOf(self).result({ items: shown }, ({ items }) =>
        table(
          ['', 'name', 'address'],
          items.map((item) => [item.current ? '*' : '', item.name, item.address]),
          'No profiles yet. Create one with: postrider login',
        ),
      )
    })

  command
    .command('use')
    .argument('<name>', 'name of the profile')
    .description('use a profile from now on')
    .action(async (name: string, _options: unknown, self: Command) => {
      const before = await readProfiles()
      expectProfile(before, name)
      await writeProfiles({ ...before, current: name })
      outputOf(self).result({ current: name }, () => `Profile ${name} is used from now on.`)
    })

  command
    .command('remove')
    .argument('<name>', 'name of the profile')
    .description('remove a profile and its token')
    .action(async (name: string, _options: unknown, self: Command) => {
      const before = await readProfiles()
      expectProfile(before, name)
      const { [name]: _, ...profiles } = before.profiles
      await writeProfiles({ ...before, profiles })
      outputOf(self).result({ removed: name }, () => `Profile ${name} is removed.`)
    })
  return command
}

function expectProfile({ profiles }: Profiles, name: string): void {
  if (!Object.hasOwn(profiles, name))
    throw new CommandError('notFound', `there is no profile ${name}; see: postrider profiles list`)
}
