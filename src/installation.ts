/** Secrets that an embedded installation makes for itself once and keeps in its data folder. */

import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AdminTokenSchema, EncryptionKeysSchema, type Config, type EncryptionKey } from './config.ts'
import { StartError } from './errors.ts'

export interface InstallationSecrets {
  adminToken: string
  encryptionKeys: EncryptionKey[]
}

/** The configured secrets, or those of the data folder, made when it has none.
 *  @throws StartError when a file in the data folder is damaged, or cannot be read or written */
export async function installationSecrets(config: Config, dataFolder: string): Promise<InstallationSecrets> {
  return {
    adminToken: config.adminToken ?? (await keptToken(join(dataFolder, 'admin-token'))),
    encryptionKeys: config.encryptionKeys ?? (await keptKeys(join(dataFolder, keyFile))),
  }
}

async function keptToken(path: string): Promise<string> {
  const parsed = AdminTokenSchema.safeParse(await keep(path, () => randomBytes(24).toString('base64url')))
  if (parsed.success) return parsed.data
  throw new StartError(`${path} is damaged: delete it, and the next start makes a new token`)
}

/** The key ring that an installation has already.
 *  @throws StartError when it has none, or the file in the data folder is damaged */
export async function existingKeys(config: Config, dataFolder: string): Promise<EncryptionKey[]> {
  if (config.encryptionKeys !== undefined) return config.encryptionKeys
  const path = join(dataFolder, keyFile)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new StartError(`there is no POSTRIDER_ENCRYPTION_KEYS, and ${path} cannot be read`, { cause: error })
  })
  return parseKeys(path, text.trim())
}

const keyFile = 'encryption-keys'

const keptKeys = async (path: string): Promise<EncryptionKey[]> =>
  parseKeys(path, await keep(path, () => `k1:${randomBytes(32).toString('base64')}`))

function parseKeys(path: string, text: string): EncryptionKey[] {
  const parsed = EncryptionKeysSchema.safeParse(text)
  if (parsed.success) return parsed.data
  const fault = parsed.error.issues[0]?.message ?? 'cannot be read'
  throw new StartError(`${path} is damaged: it ${fault}; ${waysOut(path)}`)
}

/** What to do without the keys that stored secrets are sealed with.
 *  @param path  of the file of the keys */
const waysOut = (path: string): string =>
  `put the file back from a backup of the data folder; without it begin anew with another folder (POSTRIDER_DATA_DIR), ` +
  `as nothing else opens the secrets that ${dirname(path)} holds`

/** Does what needs the keys of an installation that made them itself, and says where they stand when they do not fit.
 *  @throws what `work` throws; a StartError names the file of the keys and the ways out */
export async function withKeysOf(config: Config, dataFolder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof StartError) || config.encryptionKeys !== undefined) throw error
    const path = join(dataFolder, keyFile)
    throw new StartError(`${path} does not fit the database (${error.message}): ${waysOut(path)}`, { cause: error })
  }
}

/** The text of a private file; written whole or not at all when there is none.
 *  @throws StartError when it cannot be read or written */
async function keep(path: string, make: () => string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw new StartError(`${path} cannot be read (${code})`, { cause: error })
  }
  const text = make()
  try {
    await writeFile(`${path}.new`, `${text}\n`, { mode: 0o600 })
    await rename(`${path}.new`, path)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new StartError(`${path} cannot be written (${code}); make room there, or set POSTRIDER_DATA_DIR`, {
      cause: error,
    })
  }
  return text
}
