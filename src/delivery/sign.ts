/** Signatures that let a receiver know a request as ours. */

import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import './native-hmac.ts'

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
  const webhookId = headerSafe(options.messageId)
  return {
    'X-Signature': createHmac('sha1', oldest).update(options.body).digest('hex'),
    'webhook-id': webhookId,
    'webhook-timestamp': String(Math.floor(options.at.getTime() / 1000)),
    'webhook-signature': options.secrets
      .map((secret) => signerOf(secret).sign(webhookId, options.at, options.body))
      .join(' '),
  }
}

const signerOf = (secret: string): Webhook => {
  if (secret.startsWith('whsec_')) {
    try {
      return new Webhook(secret)
    } catch {
      // Not base64 after all: a secret like any other.
    }
  }
  // As bytes: the library would take a string's characters modulo 256.
  return new Webhook(Buffer.from(secret, 'utf8'), { format: 'raw' })
}

/** Callers choose message ids freely; in a header only visible ASCII arrives unchanged, all else is percent-encoded. */
const headerSafe = (messageId: string): string =>
  messageId.replace(/[^\x21-\x7e]/gu, (character) =>
    Buffer.from(character, 'utf8').toString('hex').toUpperCase().replace(/../g, '%$&'),
  )
