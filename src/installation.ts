/** Secrets that an embedded installation makes for itself once and keeps in its data folder. */

import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EncryptionKeysSchema, type Config, type EncryptionKey } from './config.ts'
import { StartError } from './errors.ts'

export interface InstallationSecrets {
  adminToken: string
  encryptionKeys: EncryptionKey[]
}

/** The configured secrets, or those of the data folder, made when it has none.
 *  @throws StartError when a file in the data folder is damaged */
export async function installationSecrets(config: Config, dataFolder: string): Promise<InstallationSecrets> {
  return {
    adminToken: config.adminToken ?? (await keep(join(dataFolder, 'admin-token'), newAdminToken)),
    encryptionKeys: config.encryptionKeys ?? (await keptKeys(join(dataFolder, keyFile))),
  }
}

const newAdminToken = (): string => randomBytes(24).toString('base64url')

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
  throw new StartError(`${path} is damaged: it ${parsed.error.issues[0]?.message ?? 'cannot be read'}`)
}

/** The text of a private file; written whole or not at all when there is none. */
async function keep(path: string, make: () => string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const text = make()
  await writeFile(`${path}.new`, `${text}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
  return text
}
