/** Secrets that stand in files: `NAME_FILE` names the file that holds what `NAME` would be. */

import { closeSync, openSync, readSync } from 'node:fs'
import { StartError } from './errors.ts'

/** Variables whose value may stand in a file. */
export type SecretName =
  | 'POSTRIDER_ADMIN_TOKEN'
  | 'POSTRIDER_ENCRYPTION_KEYS'
  | 'DATABASE_URL'
  | 'TEMPORAL_API_KEY'
  | 'OTEL_EXPORTER_OTLP_HEADERS'

/** Largest file that is read, in bytes. */
export const maxSecretFileBytes = 65_536

/** What is wrong with a file, by the system's code. No text names the path: whoever mistakes the variable writes the secret there. */
const faults: Record<string, string> = {
  ENOENT: 'names a file that does not exist: correct the path',
  ENOTDIR: 'names a file that does not exist: correct the path',
  EACCES: 'names a file that the user of this process may not read: let this user read it',
  EPERM: 'names a file that the user of this process may not read: let this user read it',
  EISDIR: 'names a folder: name the file in it',
  ENAMETOOLONG: 'is longer than a path may be: give the path of a file, not the secret itself',
}

/** The environment with these secrets as if they stood in it themselves. The line end behind a secret does not count; an empty
 *  variable counts as unset.
 *  @throws StartError with one line that names the variable when its file cannot be used, or the secret is given twice */
export function withSecretFiles(environment: NodeJS.ProcessEnv, names: readonly SecretName[]): NodeJS.ProcessEnv {
  const isGiven = (name: string): boolean => (environment[name] ?? '') !== ''
  const inFiles = names.filter((name) => isGiven(`${name}_FILE`))
  const twice = inFiles.find(isGiven)
  if (twice !== undefined) throw new StartError(`${twice}_FILE is set beside ${twice}: take one of the two away`)
  const read = inFiles.map((name) => [name, readSecret(`${name}_FILE`, environment[`${name}_FILE`] ?? '')] as const)
  return { ...environment, ...Object.fromEntries(read) }
}

function readSecret(variable: string, path: string): string {
  const bytes = readBounded(variable, path)
  if (bytes.length > maxSecretFileBytes)
    throw new StartError(`${variable} names a file of more than 64 KB: name the one that holds the secret alone`)
  const text = asText(bytes)?.replace(/(\r?\n)+$/, '')
  if (text === undefined || /[\0\r\n]/.test(text))
    throw new StartError(`${variable} names a file that is not one line of text: write the secret alone into it`)
  if (text === '') throw new StartError(`${variable} names an empty file: write the secret into it`)
  return text
}

/** At most one byte more than a file may have: a pipe or a device has no length to ask for. */
function readBounded(variable: string, path: string): Buffer {
  const bytes = Buffer.alloc(maxSecretFileBytes + 1)
  let length = 0
  try {
    const file = openSync(path, 'r')
    try {
      for (let read = -1; read !== 0; length += read) read = readSync(file, bytes, length, bytes.length - length, null)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new StartError(`${variable} ${faults[code] ?? `names a file that cannot be read (${code})`}`)
  }
  return bytes.subarray(0, length)
}

function asText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
