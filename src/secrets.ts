/** Encryption with the installation's key ring: AES-256-GCM, and the box for secrets at rest. */

import { createCipheriv, createDecipheriv, createSecretKey, randomFillSync, type KeyObject } from 'node:crypto'
import type { EncryptionKey } from './config.ts'
import { StartError } from './errors.ts'

/** Encrypts with the newest key and decrypts with whichever key was used. */
export interface SecretBox {
  seal(plaintext: string): string
  /** @throws StartError when the key is not in the ring, or is another one, or the text was changed */
  open(sealed: string): string
}

const cipherName = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

/** @param purpose  what `open` must be given too
 *  @returns nonce, tag and the encrypted bytes */
export function seal(key: Buffer | KeyObject, purpose: Uint8Array, plaintext: string | Uint8Array): Buffer {
  const iv = nextIv()
  const cipher = createCipheriv(cipherName, key, iv).setAAD(purpose)
  const data = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext)
  cipher.final()
  return Buffer.concat([iv, cipher.getAuthTag(), data])
}

/** Random bytes are asked for many nonces at a time: a single one takes as long as it takes to seal a short text. */
const ivs = Buffer.alloc(ivBytes * 1024)
let ivsUsed = ivs.length

function nextIv(): Buffer {
  if (ivsUsed === ivs.length) {
    randomFillSync(ivs)
    ivsUsed = 0
  }
  return ivs.subarray(ivsUsed, (ivsUsed += ivBytes))
}

/** @throws when another key or purpose sealed it, or it was changed */
export function open(key: Buffer | KeyObject, purpose: Uint8Array, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv(cipherName, key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
    .setAAD(purpose)
    .setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes))
  const plaintext = decipher.update(sealed.subarray(ivBytes + tagBytes))
  decipher.final()
  return plaintext
}

/** What tells the operator of a key that is gone. */
export const keyMissing = (id: string): string => `the encryption key "${id}" is not in POSTRIDER_ENCRYPTION_KEYS`

/** @param keys  the ring, newest first; at least one */
export function createSecretBox(keys: readonly EncryptionKey[]): SecretBox {
  const ring = keys.map(({ id, key }) => ({ id, key: createSecretKey(key), purpose: Buffer.from(id) }))
  const [newest] = ring
  if (newest === undefined) throw new RangeError('the key ring is empty')
  const byId = new Map(ring.map((one) => [one.id, one]))
  return {
    seal: (plaintext) => `${newest.id}:${seal(newest.key, newest.purpose, plaintext).toString('base64')}`,
    open(sealed) {
      const [id = '', encoded = ''] = sealed.split(':', 2)
      const found = byId.get(id)
      if (found === undefined) throw new StartError(keyMissing(id))
      try {
        return open(found.key, found.purpose, Buffer.from(encoded, 'base64')).toString('utf8')
      } catch (error) {
        throw new StartError(`the encryption key "${id}" is not the one that a stored secret was sealed with`, {
          cause: error,
        })
      }
    },
  }
}
