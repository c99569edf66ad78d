/** A small endpoint that verifies what it gets and prints one line for each delivery. */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

/** Largest body that it reads; a delivered event is at most 32 KB and a little. */
const maxBodyBytes = 256 * 1024

const MessageSchema = z.looseObject({
  type: z.string(),
  event: z.string().optional(),
  name: z.string().optional(),
  userId: z.string().optional(),
  anonymousId: z.string().optional(),
})

export interface Receiver {
  port: number
  stop(): Promise<void>
}

/** @param port  0 takes a free one; one that is taken is replaced by a free one
 *  @param currentSecret  the shared secret of the destination that leads here, as it is now
 *  @param print  takes one line per delivery */
export async function startReceiver(
  port: number,
  currentSecret: () => string | undefined,
  print: (line: string) => void,
): Promise<Receiver> {
  const server = createServer((request, response) => {
    void readBody(request).then(
      (body) => {
        const isGenuine = verify(body, request.headers['x-signature'], currentSecret())
        print(describe(body, isGenuine))
        response.writeHead(isGenuine ? 200 : 401).end()
      },
      () => response.writeHead(413).end(),
    )
  })
  await listen(server, port).catch(() => listen(server, 0))
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBodyBytes) throw new RangeError('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function verify(body: Buffer, signature: string | string[] | undefined, secret: string | undefined): boolean {
  if (secret === undefined || typeof signature !== 'string') return false
  const expected = Buffer.from(createHmac('sha1', secret).update(body).digest('hex'))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function describe(body: Buffer, isGenuine: boolean): string {
  const time = new Date().toISOString().slice(11, 19)
  const message = MessageSchema.safeParse(parse(body))
  if (!message.success) return `${time}  a request that is no event, refused`
  const { type, event, name, userId, anonymousId } = message.data
  const what = [type, event ?? name].filter(Boolean).map(printable).join(' ')
  const who = printable(userId ?? anonymousId ?? 'nobody')
  return `${time}  ${what} by ${who}, signature ${isGenuine ? 'valid' : 'NOT valid, refused'}`
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Text of a sender must not steer the terminal. */
const printable = (text: unknown): string =>
  String(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .slice(0, 80)
