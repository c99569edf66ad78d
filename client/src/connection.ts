/** HTTP requests in Node, Deno and Bun. With `fetch` a busy program held 25 MB more memory and three quarters of the speed. */

import type { IncomingMessage } from 'node:http'
import type { Answer } from './platform.ts'

/** The server's answer names at most 2,500 rejected messages. */
const MAX_ANSWER_CHARACTERS = 1_000_000
/** How long a connection may be idle, in milliseconds: less than the 5 s after which servers, as they come, close theirs. */
const IDLE_MS = 4_000

export interface Connection {
  /** Posts a body; redirects are not followed. Rejects when there is no whole answer, or `signal` aborts. */
  post(headers: Record<string, string>, body: Uint8Array, signal: AbortSignal): Promise<Answer>
  close(): void
}

/** A connection to one address, made when it is needed and kept between requests; idle, it does not keep a program alive. */
export function openConnection(url: string): Connection {
  // Only what is used: TLS takes memory.
  const opening = open(url.startsWith('https:'))
  return {
    async post(headers, body, signal) {
      const { request, agent } = await opening
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        // Where a name has several addresses and none answers, Node leaves the error's message empty.
        const options = { method: 'POST', headers: { ...headers, 'Content-Length': body.length }, agent, signal }
        request(url, options, resolve)
          .on('error', (error: NodeJS.ErrnoException) => reject(error.message ? error : new Error(error.code)))
          .end(body)
      })
      return {
        status: response.statusCode ?? 0,
        retryAfter: response.headers['retry-after'],
        text: await read(response),
      }
    },
    close() {
      void opening.then(({ agent }) => agent.destroy())
    },
  }
}

async function open(secure: boolean) {
  const { Agent, request } = secure ? await import('node:https') : await import('node:http')
  return { request, agent: new Agent({ keepAlive: true, timeout: IDLE_MS }) }
}

async function read(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += part
    if (text.length > MAX_ANSWER_CHARACTERS) throw new Error('the answer is too long')
  }
  return text
}
