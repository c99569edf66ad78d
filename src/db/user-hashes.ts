/** Hashes, which are kept of users who were deleted in place of their ids. */

import { hash } from 'node:crypto'

const hashBytes = 16

/** What stands for a user of a source, or of all sources when there is none. */
export const userHash = (sourceId: string | undefined, userId: string): Buffer =>
  hash('sha256', `${sourceId ?? ''}\n${userId}`, 'buffer').subarray(0, hashBytes)

/** What stands for users of some sources, or of all when there are none, in hexadecimal digits. */
export const userHashes = (scope: readonly string[] | null, userIds: readonly string[]): string[] =>
  (scope ?? [undefined]).flatMap((sourceId) => userIds.map((userId) => userHash(sourceId, userId).toString('hex')))

/** A statement's parameter of such digits, as an array of the bytes. */
export const hashesIn = (parameter: string): string =>
  `array(select decode(digits, 'hex') from unnest(${parameter}::text[]) as digits)`
