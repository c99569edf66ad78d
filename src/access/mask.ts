/** Replaces secrets in what viewers and the audit log get to see. */

import { isOwn } from '../delivery/headers.ts'

export const mask = '********'

/** Members that are secrets wherever they stand in an answer of the management API. */
const secretMembers = new Set(['writeKey', 'sharedSecret', 'token', 'password'])

/** Members whose values are the caller's own data, where a name like `token` means nothing. */
const dataMembers = new Set(['message', 'traits'])

/** A copy in which secrets and the values of static headers are masked; names of headers stay, and so do the headers that
 *  Postrider sets itself: a signature tells nothing of its secret. */
export function maskSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, maskMember(name, member)]))
}

function maskMember(name: string, value: unknown): unknown {
  if (dataMembers.has(name)) return value
  if (secretMembers.has(name) && typeof value === 'string') return mask
  if (name === 'headers' && typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([header, text]) => [header, isOwn(header) ? text : mask]))
  return maskSecrets(value)
}

/** Where `value` has secrets, as in `settings.sharedSecret` or `settings.webhooks.0.headers`. */
export function secretPaths(value: unknown, path: string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const here = [...path, name]
    if (dataMembers.has(name)) return []
    if ((secretMembers.has(name) && typeof member === 'string') || (name === 'headers' && member !== undefined))
      return [here.join('.')]
    return secretPaths(member, here)
  })
}
