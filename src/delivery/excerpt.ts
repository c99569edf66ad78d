/** The part of a failed answer's body that people get to see. */

/** Longest excerpt, in bytes of UTF-8. */
export const maxExcerptBytes = 1024

/** The beginning of a body as one line of clean text: no control, format or broken characters, no runs of blanks.
 *  Undefined when nothing is left.
 *  @param secrets  texts that an answer may echo and nobody may read there */
export const cleanExcerpt = (body: Buffer, secrets: readonly string[]): string | undefined => {
  const decoded = new TextDecoder('utf-8').decode(body)
  const hidden = secrets.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), decoded)
  const line = hidden
    .replace(/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cf}\p{Cs}\p{Co}\p{Cn}\ufffd]/gu, '')
    .trim()
  return cutToBytes(line, maxExcerptBytes) || undefined
}

const cutToBytes = (text: string, bytes: number): string =>
  text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read)
