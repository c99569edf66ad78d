interface RepeatedRequest {
  url: string
  headers: Record<string, string>
  body: string
}

/** In single quotes for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command for a POSIX shell that sends the request again, byte for byte, with the signature it had. */
export function curlCommand({ url, headers, body }: RepeatedRequest): string {
  const options = Object.entries(headers).map(
    ([name, value]) => `-H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`,
  )
  return [`curl --globoff ${quote(url)}`, ...options, `--data-binary ${quote(body)}`].join(' \\\n  ')
}
