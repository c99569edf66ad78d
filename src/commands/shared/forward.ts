/** Passes a received request on to a program on this machine. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Answer } from '../../receiver/receiver.ts'

/** The node waits 5 s for an answer; ours must come before that to say why there is none. */
const limitMs = 4_500

/** Headers that belong to one connection, not to the request. */
const connectionHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'expect'])

/** Its answer is the answer; a URL that does not answer counts as a bad gateway, so that the node tries again.
 *  @param more  headers to add */
export async function forward(
  url: string,
  { headers }: Pick<IncomingMessage, 'headers'>,
  body: Buffer,
  more: Record<string, string> = {},
): Promise<Answer> {
  try {
    // Loaded only here: the library takes longer to load than the rest of a command.
    const { request } = await import('undici')
    const answered = await request(url, {
      method: 'POST',
      headers: { ...passedOn(headers), ...more },
      body,
      headersTimeout: limitMs,
      bodyTimeout: limitMs,
      signal: AbortSignal.timeout(limitMs),
    })
    await answered.body.dump()
    return { status: answered.statusCode, forwarded: String(answered.statusCode) }
  } catch (error) {
    return { status: 502, forwarded: error instanceof Error ? error.message : String(error) }
  }
}

const passedOn = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => !connectionHeaders.has(name)),
  )
