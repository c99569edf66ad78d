/** Addresses and tokens that the user keeps, by name, in a private file of the user's configuration folder. */

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import envPaths from 'env-paths'
import { z } from 'zod'
import { CommandError } from './failure.ts'

const ProfilesSchema = z.object({
  /** Name of the profile that counts when none is chosen. */
  current: z.string(),
  profiles: z.record(z.string(), z.object({ address: z.string(), token: z.string().optional() })),
})
export type Profiles = z.infer<typeof ProfilesSchema>

export const defaultProfile = 'default'

export const profilesPath = (): string => join(envPaths('postrider', { suffix: '' }).config, 'profiles.json')

/** @throws CommandError when the file is damaged */
export async function readProfiles(): Promise<Profiles> {
  const path = profilesPath()
  try {
    return ProfilesSchema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: defaultProfile, profiles: {} }
    throw new CommandError('failed', `${path} cannot be read; mend or remove it, then: postrider login`, {
      cause: error,
    })
  }
}

/** Replaces the file whole, readable by its owner alone.
 *  @throws CommandError when it cannot be written */
export async function writeProfiles(profiles: Profiles): Promise<void> {
  const path = profilesPath()
  const next = `${path}.${process.pid}.new`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(next, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
    await rename(next, path)
  } catch (error) {
    throw new CommandError('failed', `the profile cannot be saved: ${(error as Error).message}`, { cause: error })
  }
}
