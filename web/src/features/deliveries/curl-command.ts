interface RepeatedRequest {
  url: string
  method?: string | undefined
  headers: Record<string, string>
  body: string
}

/** In single quotes for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command for a POSIX shell that sends the request again, byte for byte, with the signature it had. */
export function curlCommand({ url, method = 'POST', headers, body }: RepeatedRequest): string {
  const options = Object.entries(headers).map(
    ([name, value]) => `-H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`,
  )
  // With data, curl posts unless told otherwise.
  const request = method === 'POST' ? [] : [`-X ${method}`]
  return [`curl --globoff ${quote(url)}`, ...request, ...options, `--data-binary ${quote(body)}`].join(' \\\n  ')
}
