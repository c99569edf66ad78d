interface RepeatedRequest {
  url: string
  headers: Record<string, string>
  body: string
  isSigned: boolean
}

/** In single quotes for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command for a POSIX shell that sends the request again. The secret stays out of it: where requests are signed, the
 *  command computes the signature from `$SHARED_SECRET`. */
export function curlCommand({ url, headers, body, isSigned }: RepeatedRequest): string {
  const options = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)
  if (!isSigned) return [`curl ${quote(url)}`, ...options, `--data-binary ${quote(body)}`].join(' \\\n  ')
  const signature = `$(printf %s "$BODY" | openssl dgst -sha1 -hmac "$SHARED_SECRET" | sed 's/.*= //')`
  return [
    `BODY=${quote(body)}`,
    [`curl ${quote(url)}`, ...options, `-H "X-Signature: ${signature}"`, '--data-binary "$BODY"'].join(' \\\n  '),
  ].join('\n')
}
