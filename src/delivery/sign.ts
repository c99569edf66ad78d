/** Signatures that let a receiver know a request as ours. */

import { createHmac } from 'node:crypto'

/** Headers that let a receiver verify `body`; none without a secret.
 *
 *  `X-Signature` is the lowercase hex HMAC-SHA1 of the body's UTF-8 bytes, keyed with the UTF-8 bytes of the oldest secret: it can
 *  carry only one, and while a secret is rotated a receiver surely knows the old one. `webhook-signature` has one `v1` signature
 *  per secret, so that both verify.
 *
 *  For Standard Webhooks a secret of the form `whsec_` and base64 stands for the decoded bytes: the receiver passes
 *  it to its library as it is. Any other secret stands for its own UTF-8 bytes: the receiver passes `whsec_` and the
 *  base64 of those (or, for ASCII, the secret with the library's `raw` format).
 *  @param secrets  newest first
 *  @param at  moment of this attempt; sent in whole seconds
 *  @see spec/, "Authentication"; Standard Webhooks 1.0.0, "Signature scheme" */
export const signatureHeaders = (options: {
  secrets: readonly string[]
  messageId: string
  body: string
  at: Date
}): Record<string, string> => {
  const oldest = options.secrets.at(-1)
  if (oldest === undefined) return {}
  const { messageId, at } = options
  const named = idAndTime(messageId, at)
  const signed = `${named['webhook-id']}.${named['webhook-timestamp']}.${options.body}`
  return {
    'X-Signature': createHmac('sha1', oldest).update(options.body).digest('hex'),
    'webhook-id': named['webhook-id'],
    'webhook-timestamp': named['webhook-timestamp'],
    'webhook-signature': options.secrets
      .map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`)
      .join(' '),
  }
}

/** The headers that are signed with the body. */
export const idAndTime = (messageId: string, at: Date): Record<'webhook-id' | 'webhook-timestamp', string> => ({
  'webhook-id': headerSafe(messageId),
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
})

/** Whether a header carries a signature, in whatever case it is written. */
export const isSignature = (name: string): boolean => /^(x|webhook)-signature$/i.test(name)

/** Bytes that a secret stands for in Standard Webhooks. What counts as base64 is what its library takes for it: 4 characters
 *  and more, whose padding may be missing. */
const keyOf = (secret: string): Buffer => {
  const [, base64] = /^whsec_(?=.{4})([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  return base64 === undefined ? Buffer.from(secret, 'utf8') : Buffer.from(base64, 'base64')
}

/** Callers choose message ids freely; in a header only visible ASCII arrives unchanged, all else is percent-encoded. */
const headerSafe = (messageId: string): string =>
  messageId.replace(/[^\x21-\x7e]/gu, (character) =>
    Buffer.from(character, 'utf8').toString('hex').toUpperCase().replace(/../g, '%$&'),
  )
