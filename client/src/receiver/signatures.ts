/** Signatures of deliveries, compared in constant time. */

import { createHmac, timingSafeEqual } from 'node:crypto'

/** A header as Node, Fastify or a `Headers` object gives it; one that came more than once, a list, is not authentic. */
export type HeaderValue = string | readonly string[] | null | undefined

/** The part of a request's headers that Standard Webhooks uses. */
export interface StandardWebhookHeaders {
  'webhook-id'?: HeaderValue
  'webhook-timestamp'?: HeaderValue
  'webhook-signature'?: HeaderValue
}

/** Clock difference and age that a Standard Webhooks message may have, in seconds (specification, "Verifying"). */
const TOLERANCE_SECONDS = 300

/**
 * Whether `header` (`X-Signature`) is the lowercase hex HMAC-SHA1 of the body's bytes, keyed with the shared secret.
 * @param body  as it was received, not parsed
 * @param secret  or several, of which any may have signed
 * @see `spec/`, "Authentication"
 */
export function verifySignature(
  body: string | Uint8Array,
  header: HeaderValue,
  secret: string | readonly string[],
): boolean {
  // `some` may stop early here and below: which of the secrets fits is none.
  return secretsOf(secret).some(
    (key) => typeof header === 'string' && isEqual(createHmac('sha1', key).update(body).digest('hex'), header),
  )
}

/**
 * Whether the headers carry a `v1` signature of the body, and a time not more than 5 minutes away.
 * @param secret  the destination's shared secret: `whsec_` and base64 stands for the decoded bytes, anything else for
 *   its own UTF-8 bytes; or several, of which any may have signed
 * @param now  the receiver's clock
 * @see Standard Webhooks 1.0.0, "Signature scheme"
 */
export function verifyStandardWebhook(
  body: string | Uint8Array,
  headers: StandardWebhookHeaders | Readonly<Record<string, HeaderValue>>,
  secret: string | readonly string[],
  now = new Date(),
): boolean {
  const keys = secretsOf(secret).map(keyOf)
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false
  if (id === '' || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now.getTime() / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const given = signatures.split(' ')
  return keys.some((key) => {
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
    return given.some((signature) => isEqual(`v1,${digest}`, signature))
  })
}

/** What counts as base64 is what the library of Standard Webhooks takes for it: its padding may be missing. */
function keyOf(secret: string): Buffer {
  const [, base64] = /^whsec_(?=.{4})([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  return base64 === undefined ? Buffer.from(secret) : Buffer.from(base64, 'base64')
}

/** An empty secret would accept what anyone can sign. */
function secretsOf(secret: string | readonly string[]): readonly string[] {
  const secrets = typeof secret === 'string' ? [secret] : secret
  if (!isListOfSecrets(secrets)) throw new TypeError('secret must be a string that is not empty, or a list of such')
  return secrets
}

/** Callers in JavaScript may pass anything. */
const isListOfSecrets = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((secret) => typeof secret === 'string' && secret !== '')

function isEqual(expected: string, given: string): boolean {
  const a = Buffer.from(expected)
  const b = Buffer.from(given)
  return a.length === b.length && timingSafeEqual(a, b)
}
