/** Encryption of secrets at rest: AES-256-GCM with a key ring. */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { EncryptionKey } from './config.ts'
import { StartError } from './errors.ts'

/** Encrypts with the newest key and decrypts with whichever key was used. */
export interface SecretBox {
  seal(plaintext: string): string
  /** @throws StartError when the key is not in the ring, or is another one, or the text was changed */
  open(sealed: string): string
}

const ivBytes = 12
const tagBytes = 16

/** @param keys  the ring, newest first; at least one */
export function createSecretBox(keys: readonly EncryptionKey[]): SecretBox {
  const [newest] = keys
  if (newest === undefined) throw new RangeError('the key ring is empty')
  const byId = new Map(keys.map(({ id, key }) => [id, key]))
  return {
    seal(plaintext) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', newest.key, iv).setAAD(Buffer.from(newest.id))
      const data = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
      return `${newest.id}:${Buffer.concat([iv, cipher.getAuthTag(), data]).toString('base64')}`
    },
    open(sealed) {
      const [id = '', encoded = ''] = sealed.split(':', 2)
      const key = byId.get(id)
      if (key === undefined) throw new StartError(`the encryption key "${id}" is not in POSTRIDER_ENCRYPTION_KEYS`)
      const bytes = Buffer.from(encoded, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes))
        .setAAD(Buffer.from(id))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8')
      } catch (error) {
        throw new StartError(`the encryption key "${id}" is not the one that a stored secret was sealed with`, {
          cause: error,
        })
      }
    },
  }
}
