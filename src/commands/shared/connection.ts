/** Which node a command talks to, and with which token. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withSecretFiles } from '../../secret-files.ts'
import { isLoopback } from './addresses.ts'
import { CommandError, usageError } from './failure.ts'
import { readProfiles } from './profiles.ts'

export const defaultAddress = 'http://127.0.0.1:8080'

export interface ConnectionOptions {
  profile?: string
  address?: string
  token?: string
}

export interface Connection {
  address: string
  token: string | undefined
}

/** Options outrank the environment, and this the current profile; a profile that is named outranks the environment.
 *  The token of a profile goes to the profile's address alone. A node on this machine has its address in the
 *  data folder, and its token when it made that itself. */
export async function findConnection(options: ConnectionOptions, env: NodeJS.ProcessEnv): Promise<Connection> {
  const { current, profiles } = await readProfiles()
  const named = options.profile ?? set(env['POSTRIDER_PROFILE'])
  const profile = profiles[named ?? current]
  if (named !== undefined && profile === undefined)
    throw new CommandError(
      'notFound',
      `there is no profile ${named}; create it with: postrider login --profile ${named}`,
    )
  const envAddress = set(env['POSTRIDER_ADDRESS'])
  const envToken = set(withSecretFiles(env, ['POSTRIDER_ADMIN_TOKEN'])['POSTRIDER_ADMIN_TOKEN'])
  const kept = options.profile === undefined ? (envAddress ?? profile?.address) : (profile?.address ?? envAddress)
  const address = normalAddress(options.address ?? kept ?? (await inDataFolder(env, 'address')) ?? defaultAddress)
  const profileToken = profile !== undefined && normalAddress(profile.address) === address ? profile.token : undefined
  const keptToken = options.profile === undefined ? (envToken ?? profileToken) : (profileToken ?? envToken)
  const token = options.token ?? keptToken ?? (isLoopback(address) ? await inDataFolder(env, 'admin-token') : undefined)
  return { address, token }
}

/** @throws CommandError (usage) when it is no http or https address */
export function normalAddress(text: string): string {
  const withScheme = /^https?:\/\//i.test(text) ? text : `http://${text}`
  if (!URL.canParse(withScheme)) throw usageError(`${text} is not an address such as ${defaultAddress}`)
  const { origin, pathname } = new URL(withScheme)
  return `${origin}${pathname}`.replace(/\/+$/, '')
}

const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

/** What a node on this machine has left for commands. */
async function inDataFolder(env: NodeJS.ProcessEnv, name: 'address' | 'admin-token'): Promise<string | undefined> {
  const path = join(set(env['POSTRIDER_DATA_DIR']) ?? '.postrider', name)
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  )
}
