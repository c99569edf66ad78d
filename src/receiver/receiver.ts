/** A small endpoint on this machine: verifies what it gets, answers, and tells of it. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import { readDelivery, type ReceivedDelivery } from './read-delivery.ts'

export interface ReceivedEvent {
  /** ISO 8601. */
  at: string
  /** Null when it is no event. */
  type: string | null
  /** What it is called: an event, a page or a screen. */
  event: string | null
  userId: string | null
  anonymousId: string | null
  /** Whether the signature fits. */
  genuine: boolean
  /** What was answered. */
  status: number
  /** What passing it on gave; null when it was not. */
  forwarded: string | null
  /** The JSON value, or the text when it is none. */
  body: unknown
}

export type Answer = Pick<ReceivedEvent, 'status' | 'forwarded'>

export interface ReceiverOptions {
  host: string
  /** 0: a free one. */
  port: number
  /** Requests must be signed with one of these, as they are now; without any nothing is genuine. */
  secrets: () => readonly string[]
  /** Answers what is genuine; otherwise that gets 200. What is not gets 401. */
  forward?: (request: IncomingMessage, body: Buffer) => Promise<Answer>
  onEvent: (event: ReceivedEvent) => void
}

export interface Receiver {
  url: string
  port: number
  /** Lets the requests that are under way finish. */
  stop(): Promise<void>
}

/** Rejects with Node's error when the port cannot be had. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { host } = options
  const underWay = new Set<Promise<void>>()
  const server = createServer((request, response) => {
    const answered = answer(request, response, options)
      .catch(() => void response.destroy())
      .finally(() => underWay.delete(answered))
    underWay.add(answered)
  })
  server.listen(options.port, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/`,
    port,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      await Promise.all(underWay)
      // Browsers connect ahead of requests that never come.
      server.closeAllConnections()
      await closed
    },
  }
}

const ownName = 'postrider-receiver'
const askingLimitMs = 2_000

/** Whether a receiver of this program runs at a URL, as far as that can be reached from here. */
export async function isReceiver(url: string): Promise<boolean> {
  try {
    const { headers } = await fetch(url, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(askingLimitMs),
    })
    return headers.get('server') === ownName
  } catch {
    return false
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, options: ReceiverOptions): Promise<void> {
  if (request.method === 'HEAD') {
    response.writeHead(204, { server: ownName }).end()
    return
  }
  const at = new Date().toISOString()
  const delivery = await readDelivery(request, options.secrets())
  const result = await answerTo(request, delivery, options)
  response.writeHead(result.status).end()
  if (delivery !== undefined) options.onEvent({ at, ...describe(delivery), ...result })
  await finished(response)
}

async function answerTo(
  request: IncomingMessage,
  delivery: ReceivedDelivery | undefined,
  { forward }: ReceiverOptions,
): Promise<Answer> {
  if (delivery === undefined) return { status: 413, forwarded: null }
  if (!delivery.isGenuine) return { status: 401, forwarded: null }
  return forward === undefined ? { status: 200, forwarded: null } : forward(request, delivery.bytes)
}

/** What is told of a delivery, beside what was answered. */
export function describe({
  bytes,
  body,
  message,
  isGenuine,
}: ReceivedDelivery): Omit<ReceivedEvent, 'at' | keyof Answer> {
  const { type, event, name, userId, anonymousId } = message ?? {}
  return {
    type: type ?? null,
    event: event ?? name ?? null,
    userId: userId ?? null,
    anonymousId: anonymousId ?? null,
    genuine: isGenuine,
    body: body ?? bytes.toString('utf8'),
  }
}
