/** One row of a membership: what a caller, a file or a query says of one user. */

import { maxMemberBytes, maxUserIdLength, type AudienceKind } from '../schemas/audience.ts'

/** A member as it is staged. `value` and `traits` are JSON. */
export interface MemberRow {
  userId: string
  /** Whether the user belongs to the audience, or has a value. */
  present: boolean
  /** Value of a computed trait; null for an audience. */
  value: string | null
  traits: string | null
}

/** What became of one line. */
export type Reading = { line: number; row: MemberRow } | { line: number; fault: string }

/** Reads a row: a bare user id, or an object with `userId`, `traits` and, for computed traits, `value`.
 *  A value of `null` says that the user has none. */
export function readMember(input: unknown, kind: AudienceKind, line: number): Reading {
  const member = typeof input === 'string' ? { userId: input } : input
  if (!isObject(member)) return { line, fault: 'it is neither a user id nor an object' }
  const userId = typeof member['userId'] === 'number' ? exactNumber(member['userId']) : member['userId']
  const idFault = userIdFault(userId)
  if (typeof userId !== 'string' || idFault !== undefined) return { line, fault: idFault ?? 'userId is not a string' }
  const traits = member['traits'] ?? null
  if (traits !== null && !isObject(traits)) return { line, fault: 'traits is not an object' }
  const value = member['value'] ?? null
  if (kind === 'trait' && !('value' in member)) return { line, fault: 'value is missing' }
  const row: MemberRow = {
    userId,
    present: kind === 'audience' || value !== null,
    value: kind === 'audience' || value === null ? null : JSON.stringify(value),
    traits: traits === null || Object.keys(traits).length === 0 ? null : JSON.stringify(traits),
  }
  const bytes = Buffer.byteLength(row.traits ?? '') + Buffer.byteLength(row.value ?? '')
  return bytes > maxMemberBytes ? { line, fault: `it is larger than ${maxMemberBytes} bytes` } : { line, row }
}

/** What is wrong with a user id; undefined when nothing is. */
export function userIdFault(userId: unknown): string | undefined {
  if (userId === undefined || userId === null || userId === '') return 'userId is missing'
  if (typeof userId !== 'string') return 'userId is neither a string nor an exact number'
  if (userId.length > maxUserIdLength) return `userId is longer than ${maxUserIdLength} characters`
  // A replacement character stands for bytes that were not UTF-8.
  if (/[\0\ufffd]|\p{Surrogate}/u.test(userId)) return 'userId is not valid text'
  return undefined
}

const exactNumber = (value: number): string | number => (Number.isSafeInteger(value) ? String(value) : value)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
