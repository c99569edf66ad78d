/** The part of an answer's body that people get to see. */

/** Longest excerpt, in bytes of UTF-8. */
export const maxExcerptBytes = 1024

const decoder = new TextDecoder('utf-8')
const encoder = new TextEncoder()

/** The beginning of a body as one line of clean text: no control, format or broken characters, no runs of blanks.
 *  Undefined when nothing is left.
 *  @param secrets  texts that an answer may echo and nobody may read there */
export const cleanExcerpt = (body: Buffer, secrets: readonly string[]): string | undefined => {
  if (body.length === 0) return undefined
  const decoded = decoder.decode(body)
  const line = hideSecrets(decoded, secrets)
    .replace(/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cf}\p{Cs}\p{Co}\p{Cn}\ufffd]/gu, '')
    .trim()
  return cutToBytes(line, maxExcerptBytes) || undefined
}

/** @param secrets  texts that the answer may echo and nobody may read there */
export const hideSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text)

/** The beginning of a text that has so many bytes of UTF-8. */
export const cutToBytes = (text: string, bytes: number): string =>
  3 * text.length <= bytes ? text : text.slice(0, encoder.encodeInto(text, new Uint8Array(bytes)).read)
