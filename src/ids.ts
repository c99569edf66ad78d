/** Ids of settings: a prefix that tells what it names, and 80 random bits. */

import { randomBytes } from 'node:crypto'

const randomId = (prefix: string): string => `${prefix}_${randomBytes(10).toString('hex')}`

export const newSourceId = (): string => randomId('src')
export const newDestinationId = (): string => randomId('dst')
export const newEndpointId = (): string => randomId('ep')
export const newApiTokenId = (): string => randomId('tok')
export const newAudienceId = (): string => randomId('aud')
export const newDeletionRequestId = (): string => randomId('del')
export const newTurnedAwayId = (): string => randomId('evt')
export const newSyncId = (): string => randomId('sync')
export const newAlertChannelId = (): string => randomId('chan')
export const newListenRequestId = (): string => randomId('req')

/** Ids of data keys: 80 bits that are random for the first and go on by one, so that the keys which a process makes stand side by side in their index.
 *  Each is as good as any other as a name; none is a secret. */
export function createDataKeyIds(): () => string {
  let next = BigInt(`0x${randomBytes(10).toString('hex')}`)
  return () => `key_${(next++ & maxIdNumber).toString(16).padStart(20, '0')}`
}

const maxIdNumber = (1n << 80n) - 1n

/** A write key: 160 random bits. It is not a secret towards browsers, but nobody should guess one. */
export const newWriteKey = (): string => randomBytes(20).toString('hex')
