/** API tokens: made from 256 random bits, known to the database by their hash alone. */

import { createHash, randomBytes } from 'node:crypto'

/** What secret scanners and people recognise a token by. */
const prefix = 'ptr_'

export const newApiToken = (): string => `${prefix}${randomBytes(32).toString('base64url')}`

/** SHA-256; a token is random enough that no slower hash is needed. */
export const tokenHash = (token: string): Buffer => createHash('sha256').update(token).digest()
