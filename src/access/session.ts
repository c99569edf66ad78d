/** Sessions of the web app: everything about one stands in its signed cookie, so that every node knows it. */

import { createHash, hkdfSync } from 'node:crypto'
import { z } from 'zod'

/** How long a session lasts: 12 hours. */
export const sessionMs = 12 * 3_600_000

const keyBytes = 32

const SessionClaimsSchema = z.object({
  /** Id of the API token that signed in; null for the admin token. */
  tokenId: z.string().nullable(),
  /** Milliseconds since 1970. */
  expiresAt: z.number(),
})
export type SessionClaims = z.infer<typeof SessionClaimsSchema>

/** Keys that sign cookies, the first of them new ones. A changed admin token makes others, which ends all sessions.
 *  @param encryptionKeys  the installation's key ring, newest first */
export function sessionKeys(encryptionKeys: readonly { key: Buffer }[], adminToken: string): Buffer[] {
  const info = `postrider session ${createHash('sha256').update(adminToken).digest('hex')}`
  return encryptionKeys.map(({ key }) => Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), info, keyBytes)))
}

export const writeClaims = (claims: SessionClaims): string => Buffer.from(JSON.stringify(claims)).toString('base64url')

/** @param text  a cookie whose signature was right
 *  @returns undefined when its time is over */
export function readClaims(text: string, now: number): SessionClaims | undefined {
  const claims = SessionClaimsSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
  return claims.expiresAt > now ? claims : undefined
}
