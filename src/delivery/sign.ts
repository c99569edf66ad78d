/** Signatures that let a receiver know a request as ours. */

import { createHmac } from 'node:crypto'

/** Headers that let a receiver verify `body`; none without a secret.
 *
 *  `X-Signature` is the lowercase hex HMAC-SHA1 of the bytes, keyed with the UTF-8 bytes of the newest secret; it can
 *  carry only one. `webhook-signature` has one `v1` signature per secret, so that both verify while a secret is rotated.
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
  body: Buffer
  at: Date
}): Record<string, string> => {
  const [newest] = options.secrets
  if (newest === undefined) return {}
  const webhookId = headerSafe(options.messageId)
  const webhookTimestamp = String(Math.floor(options.at.getTime() / 1000))
  const signed = `${webhookId}.${webhookTimestamp}.`
  return {
    'X-Signature': createHmac('sha1', newest).update(options.body).digest('hex'),
    'webhook-id': webhookId,
    'webhook-timestamp': webhookTimestamp,
    'webhook-signature': options.secrets
      // Node's own HMAC: that of the scheme's library is JavaScript and takes seventeen times as long.
      .map((secret) => createHmac('sha256', keyOf(secret)).update(signed).update(options.body).digest('base64'))
      .map((signature) => `v1,${signature}`)
      .join(' '),
  }
}

const keyOf = (secret: string): Buffer => {
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : ''
  const decoded = Buffer.from(encoded, 'base64')
  // What is not base64 after all is a secret like any other.
  return encoded !== '' && decoded.toString('base64') === encoded ? decoded : Buffer.from(secret, 'utf8')
}

/** Callers choose message ids freely; in a header only visible ASCII arrives unchanged, all else is percent-encoded. */
const headerSafe = (messageId: string): string =>
  messageId.replace(/[^\x21-\x7e]/gu, (character) =>
    Buffer.from(character, 'utf8').toString('hex').toUpperCase().replace(/../g, '%$&'),
  )
