/** `postrider login`: keeps an address and a token for later commands. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import { createApi } from './shared/api.ts'
import { findConnection } from './shared/connection.ts'
import { defaultProfile, profilesPath, readProfiles, writeProfiles } from './shared/profiles.ts'
import { askSecret } from './shared/prompt.ts'
import { globalsOf, outputOf } from './shared/session.ts'

export const loginCommand = (): Command =>
  new Command('login')
    .description('check a token, and save it with the address as a profile')
    .action(async (_options: unknown, command: Command) => login(command))

async function login(command: Command): Promise<void> {
  const options = globalsOf(command)
  const { profiles } = await readProfiles()
  const name = options.profile ?? defaultProfile
  // A profile that is to be made cannot be asked for its address yet.
  const { profile: _, ...rest } = options
  const known = profiles[name] === undefined ? rest : options
  const { address } = await findConnection(known, process.env)
  const token = options.token ?? (await askSecret(`Token for ${address}: `))
  const { role } = await answerOf(createApi(address, token).GET('/session'))
  const now = await readProfiles()
  await writeProfiles({ current: name, profiles: { ...now.profiles, [name]: { address, token } } })
  outputOf(command).result(
    { profile: name, address, role },
    () => `Logged in to ${address} as ${role}. Profile ${name} is saved in ${profilesPath()} and used from now on.`,
  )
}
