/** Encryption of what Temporal holds of events: every payload is sealed on its way there, and opened on its way back. */

import { createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import proto, { type temporal } from '@temporalio/proto'
import type { EncryptionKey } from '../config.ts'
import { AppError } from '../errors.ts'
import { keyMissing, open, seal } from '../secrets.ts'

export type Payload = temporal.api.common.v1.IPayload

export interface SealedPayloads {
  /** Seals with the newest key. */
  seal: (payload: Payload) => Payload
  /** Opens what any key of the ring has sealed; what was never sealed stays as it is.
   *  @throws AppError unavailable when the key is not in the ring, bad_request when it was sealed by another one or changed */
  open: (payload: Payload) => Payload
}

const encoding = Buffer.from('binary/encrypted')
const keyIdName = 'encryption-key-id'
const saltName = 'salt'

/** Keys of payloads are derived: one that may ask for payloads in clear cannot have other secrets opened as payloads. */
const purpose = 'postrider payloads'
const saltBytes = 16
const keyBytes = 32

/** Payloads that one derived key seals. With random nonces AES-GCM allows 2^32 (NIST SP 800-38D, section 8.3): some weeks of a busy
 *  node. */
const maxSealed = 2 ** 31

/** Derived keys that are kept for opening; each start of a node makes a new one. */
const maxKept = 1_000

const ProtoPayload = proto.temporal.api.common.v1.Payload

/** @param keys  the installation's ring, newest first; at least one */
export function createSealedPayloads(keys: readonly EncryptionKey[]): SealedPayloads {
  const [newest] = keys
  if (newest === undefined) throw new RangeError('the key ring is empty')
  const byId = new Map(keys.map(({ id, key }) => [id, key]))
  const kept = new LRUCache<string, KeyObject>({ max: maxKept })

  const keyOf = (id: string, salt: Buffer): KeyObject => {
    const name = `${id}:${salt.toString('base64')}`
    const known = kept.get(name)
    if (known !== undefined) return known
    const ringKey = byId.get(id)
    if (ringKey === undefined) throw new AppError('unavailable', keyMissing(id))
    const key = createSecretKey(Buffer.from(hkdfSync('sha256', ringKey, salt, purpose, keyBytes)))
    kept.set(name, key)
    return key
  }

  const newSealing = () => {
    const salt = randomBytes(saltBytes)
    const names = { encoding, [keyIdName]: Buffer.from(newest.id), [saltName]: salt }
    return { salt, names, key: keyOf(newest.id, salt), count: 0 }
  }
  let sealing = newSealing()

  return {
    seal(payload) {
      if (sealing.count++ === maxSealed) sealing = newSealing()
      const { salt, names, key } = sealing
      return { metadata: names, data: seal(key, salt, ProtoPayload.encode(payload).finish()) }
    },
    open(payload) {
      if (!isSealed(payload)) return payload
      const { metadata, data } = payload
      const id = Buffer.from(metadata?.[keyIdName] ?? []).toString()
      const salt = Buffer.from(metadata?.[saltName] ?? [])
      const key = keyOf(id, salt)
      try {
        return ProtoPayload.decode(open(key, salt, data ?? salt))
      } catch (error) {
        throw new AppError('bad_request', `the encryption key "${id}" is not the one that a payload was sealed with`, {
          cause: error,
        })
      }
    },
  }
}

/** Whether something of an answer of Temporal is a payload that was sealed. */
export function isSealed(value: object): value is Payload {
  const { metadata } = value as Payload
  const name = metadata?.['encoding']
  return name !== undefined && encoding.equals(name)
}
