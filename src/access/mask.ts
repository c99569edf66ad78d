/** Replaces secrets in what viewers and the audit log get to see. */

import { isOwn, mask } from '../delivery/headers.ts'
import { isSignature } from '../delivery/sign.ts'

/** Members that are secrets wherever they stand in an answer of the management API. */
const secretMembers = new Set(['writeKey', 'keyBegins', 'sharedSecret', 'token', 'password'])

/** Members whose values are the caller's own data, where a name like `token` means nothing, or an answer, whose secrets are masked before
 *  it is kept. */
const dataMembers = new Set(['message', 'traits', 'response'])

/** A copy in which secrets and the values of static headers are masked; names of headers stay, and so do the headers that
 *  Postrider sets itself, but for signatures: who has one can post the request that it is for. */
export const maskSecrets = (value: unknown): unknown => mapMembers(value, maskSecret)

/** What a viewer gets to see of an answer of the management API: `maskSecrets`, and none of the values in the query of a URL, where
 *  receivers have their tokens. */
export const maskForViewer = (value: unknown): unknown =>
  mapMembers(value, (name, member) => maskUrl(name, maskSecret(name, member)))

/** A copy in which each member is changed, and then those within it; the caller's own data stays. */
function mapMembers(value: unknown, change: (name: string, member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapMembers(item, change))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]): [string, unknown] => {
    if (dataMembers.has(name)) return [name, member]
    return [name, mapMembers(change(name, member), change)]
  })
  return Object.fromEntries(members)
}

function maskSecret(name: string, member: unknown): unknown {
  if (secretMembers.has(name) && typeof member === 'string') return mask
  if (name === 'headers' && typeof member === 'object' && member !== null)
    return Object.fromEntries(Object.entries(member).map(([header, text]) => [header, isShown(header) ? text : mask]))
  return member
}

const maskUrl = (name: string, member: unknown): unknown =>
  name === 'url' && typeof member === 'string' ? member.replace(/(?<=\?)[^#]*/, maskQuery) : member

/** Names stay; what has none is masked whole. */
const maskQuery = (query: string): string =>
  query
    .split('&')
    .map((part) => (part.includes('=') ? `${part.slice(0, part.indexOf('='))}=${mask}` : mask))
    .join('&')

const isShown = (header: string): boolean => isOwn(header) && !isSignature(header)

const isEmpty = (headers: unknown): boolean => Object.keys(headers ?? {}).length === 0

/** Where `value` has secrets, as in `settings.sharedSecret` or `settings.webhooks.0.headers`. */
export function secretPaths(value: unknown, path: string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const here = [...path, name]
    if (dataMembers.has(name)) return []
    if ((secretMembers.has(name) && typeof member === 'string') || (name === 'headers' && !isEmpty(member)))
      return [here.join('.')]
    return secretPaths(member, here)
  })
}
