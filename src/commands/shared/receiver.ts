/** The endpoint that `listen` opens: verifies, tells, forwards, answers. */

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readDelivery, type ReceivedDelivery } from '../../receiver/read-delivery.ts'
import { CommandError } from './failure.ts'

/** The node waits 5 s for an answer; ours must come before that to say why there is none. */
const forwardLimitMs = 4_500

/** Headers that belong to one connection, not to the request. */
const connectionHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'expect'])

export interface ReceivedEvent {
  at: string
  type: string | null
  event: string | null
  userId: string | null
  /** Whether the signature fits. */
  genuine: boolean
  /** What was answered. */
  status: number
  /** What forwarding gave; null when there was none. */
  forwarded: string | null
  /** The event, or the text when it is no JSON. */
  body: unknown
}

export interface ReceiverOptions {
  host: string
  /** 0: a free one. */
  port: number
  /** Secret that requests must be signed with. */
  secret: string
  /** Where requests are passed on to; they are answered 200 without. */
  forwardTo?: string
  /** Headers to add when forwarding. */
  header?: Record<string, string>
  onEvent: (event: ReceivedEvent) => void
}

export interface Receiver {
  url: string
  /** Finishes the requests that are under way. */
  stop(): Promise<void>
}

/** @throws CommandError when the port cannot be had */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { host, port } = options
  const server = createServer((incoming, response) => {
    answer(incoming, response, options).catch(() => response.destroy())
  })
  server.listen(port, host)
  await once(server, 'listening').catch((error: Error) => {
    throw new CommandError('failed', `cannot listen at ${host}:${port}: ${error.message}`)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/`,
    async stop() {
      server.close()
      server.closeIdleConnections()
      await once(server, 'close')
    },
  }
}

async function answer(incoming: IncomingMessage, response: ServerResponse, options: ReceiverOptions): Promise<void> {
  const at = new Date().toISOString()
  // Each request ends its connection, so that a stop need not wait for idle ones.
  response.setHeader('connection', 'close')
  const delivery = await readDelivery(incoming, options.secret)
  if (delivery === undefined) {
    response.writeHead(413).end()
    return
  }
  const { bytes, isGenuine } = delivery
  const forwarding = isGenuine && options.forwardTo !== undefined
  const result = forwarding
    ? await forward(options.forwardTo ?? '', incoming, bytes, options.header)
    : { status: isGenuine ? 200 : 401, forwarded: null }
  response.writeHead(result.status).end()
  options.onEvent({ at, ...describe(delivery), genuine: isGenuine, ...result })
}

/** Passes the request on; a URL that does not answer counts as a bad gateway, so that the node tries again. */
async function forward(
  url: string,
  { headers }: IncomingMessage,
  body: Buffer,
  more: Record<string, string> = {},
): Promise<Pick<ReceivedEvent, 'status' | 'forwarded'>> {
  try {
    // Loaded only here: the library takes longer to load than the rest of a command.
    const { request } = await import('undici')
    const answered = await request(url, {
      method: 'POST',
      headers: { ...passedOn(headers), ...more },
      body,
      headersTimeout: forwardLimitMs,
      bodyTimeout: forwardLimitMs,
      signal: AbortSignal.timeout(forwardLimitMs),
    })
    await answered.body.dump()
    return { status: answered.statusCode, forwarded: String(answered.statusCode) }
  } catch (error) {
    return { status: 502, forwarded: error instanceof Error ? error.message : String(error) }
  }
}

const passedOn = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !connectionHeaders.has(name)))

function describe({
  bytes,
  body,
  message,
}: ReceivedDelivery): Pick<ReceivedEvent, 'type' | 'event' | 'userId' | 'body'> {
  if (message === undefined) return { type: null, event: null, userId: null, body: body ?? bytes.toString('utf8') }
  const { type, event, name, userId } = message
  return { type, event: event ?? name ?? null, userId: userId ?? null, body }
}
