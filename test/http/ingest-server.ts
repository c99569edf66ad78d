/** A server with nothing but the ingest API, over a port that holds events in memory. */

import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import type { AddressInfo } from 'node:net'
import { answerErrors } from '../../src/http/errors.ts'
import { ingestRoutes, type IngestOptions } from '../../src/http/ingest/plugin.ts'
import { ingestServerOptions } from '../../src/http/ingest/server-options.ts'
import type {
  AcceptedEvent,
  IngestDestination,
  IngestFate,
  IngestPort,
  IngestSource,
  TurnedAwayReason,
} from '../../src/ingest/port.ts'

export const writeKey = 'wk_test'
export const disabledKey = 'wk_disabled'
/** A source without any destination. */
export const lonelyKey = 'wk_lonely'
export const suppressedUser = 'forgotten'

const destination: IngestDestination = {
  destinationId: 'dst_1',
  endpointIds: ['ep_1', 'ep_2'],
  successPolicy: 'any',
  integration: 'Webhooks',
  name: 'Test destination',
}

const sources = new Map<string, IngestSource>([
  [writeKey, { id: 'src_1', enabled: true, destinations: [destination] }],
  [disabledKey, { id: 'src_2', enabled: false, destinations: [destination] }],
  [lonelyKey, { id: 'src_3', enabled: true, destinations: [] }],
])

/** Holds events and counts in memory. `failure` is thrown by `accept` as long as it is set. */
export class MemoryPort implements IngestPort {
  events: AcceptedEvent[] = []
  counts: Record<string, number> = {}
  failure: Error | undefined

  findSource = (key: string): IngestSource | undefined => sources.get(key)

  accept = async (events: AcceptedEvent[]): Promise<void> => {
    if (this.failure !== undefined) throw this.failure
    this.events.push(...events)
  }

  /** Keys are `fate`, `fate:reason`, each followed by the source where known. */
  count = (fate: IngestFate, sourceId: string | undefined, events: number, reason?: TurnedAwayReason): void => {
    const key = [fate, reason, sourceId].filter((part) => part !== undefined).join(' ')
    this.counts[key] = (this.counts[key] ?? 0) + events
  }

  isSuppressed = (_sourceId: string, userId: string): boolean => userId === suppressedUser

  clear(): void {
    this.events = []
    this.counts = {}
    this.failure = undefined
  }

  /** The delivered bodies as receivers would parse them. */
  bodies(): Record<string, unknown>[] {
    return this.events.map(({ message }) => JSON.parse(JSON.stringify(message)) as Record<string, unknown>)
  }
}

export interface IngestServer {
  url: string
  port: MemoryPort
  app: FastifyInstance
}

export async function startIngest({
  trustProxy = [],
  ...options
}: Partial<Omit<IngestOptions, 'port'>> & { trustProxy?: string[] } = {}): Promise<IngestServer> {
  const port = new MemoryPort()
  const app = fastify({ ...ingestServerOptions, trustProxy, forceCloseConnections: true })
  answerErrors(app)
  await app.register(ingestRoutes, { lenientAuth: false, ...options, port })
  app.get('/fault', async () => {
    throw new Error('the password is swordfish')
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, port, app }
}

export const basic = (key: string): string => `Basic ${Buffer.from(`${key}:`).toString('base64')}`

export interface Answer {
  status: number
  headers: Headers
  body: {
    success?: boolean
    accepted?: string[]
    rejected?: { index: number; messageId: string | null; code: string; message: string }[]
    code?: string
    message?: string
    path?: string
  }
}

/** Posts `body` as JSON with the test source's key, unless `headers` say otherwise. */
export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    headers: { authorization: basic(writeKey), 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  }
}
