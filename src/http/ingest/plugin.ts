/** The ingest API: every path that Segment-compatible client libraries send to. */

import cors from '@fastify/cors'
import type {} from '@fastify/swagger'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { createIngest } from '../../ingest/ingest.ts'
import type { IngestAnswer, IngestRequest } from '../../ingest/ingest.ts'
import { maxRequestBytes, maxUnfinishedBytes } from '../../ingest/limits.ts'
import type { IngestPort } from '../../ingest/port.ts'
import { eventTypes } from '../../schemas/message.ts'
import type { EventType } from '../../schemas/message.ts'
import { acceptJson } from '../json-body.ts'
import type { Tracing } from '../../tracing/port.ts'
import { clientRoutes } from './client-routes.ts'
import { answerPrograms } from '../security-headers.ts'
import { guardIngest, type GuardOptions } from './guard.ts'
import { traceRequests } from './trace-requests.ts'
import { asksToWait } from '../waiting-requests.ts'

export interface IngestOptions extends GuardOptions {
  port: IngestPort
  /** Answer unknown write keys and switched-off sources with 200 and drop their events, counted. */
  lenientAuth: boolean
  /** Events a second that are taken of each source; absent: no bound. */
  maxEventsPerSource?: number | undefined
  /** Absent: off. */
  tracing?: Tracing | undefined
}

/** What the browser library calls the types. */
const shortNames: Record<EventType, string> = {
  track: 't',
  page: 'p',
  screen: 's',
  identify: 'i',
  group: 'g',
  alias: 'a',
}
const batchPaths = ['/batch', '/import', '/b']

/** Registers the ingest API under `/v1`, with CORS for any origin: a write key may be public, and no cookie counts.
 *  Needs a server made with `ingestServerOptions`, and `answerErrors` on it. */
export async function ingestRoutes(app: FastifyInstance, options: IngestOptions): Promise<void> {
  const { port, lenientAuth, tracing } = options
  answerPrograms(app)
  const ingest = createIngest(port, options)
  const closing = new AbortController()
  // Who waits to be told of an event does not hold up the end of the node.
  app.addHook('preClose', async () => closing.abort())
  const toIngest = (request: FastifyRequest, reply: FastifyReply): IngestRequest => ({
    ...readRequest(request),
    ...asksToWait(request),
    gone: () => AbortSignal.any([closing.signal, endOf(reply)]),
  })
  await app.register(
    async (v1) => {
      await v1.register(cors, {
        origin: '*',
        methods: ['GET', 'POST'],
        allowedHeaders: ['Authorization', 'Content-Type', 'Content-Encoding', 'X-Retry-Count', 'Traceparent'],
        exposedHeaders: ['Retry-After'],
        maxAge: 86_400,
        strictPreflight: false,
      })
      await v1.register(async (scope) => {
        if (tracing !== undefined) traceRequests(scope, tracing)
        await guardIngest(scope, options)
        acceptJson(scope, {
          maxBytes: maxRequestBytes,
          maxUnfinishedBytes,
          onRefused: ({ code }) => port.count('rejected', undefined, 1, code),
        })
        for (const type of eventTypes) {
          postOnly(scope, [`/${type}`, `/${shortNames[type]}`], (...call) => ingest.single(type, toIngest(...call)))
        }
        postOnly(scope, batchPaths, (...call) => ingest.batch(toIngest(...call)))
      })
      await v1.register(clientRoutes, { port, lenientAuth })
    },
    { prefix: '/v1' },
  )
  // Some Go clients ask for it before they send, ten times until it is there.
  app.get('/cluster-info', async () => ({ nodeCount: 1 }))
}

function postOnly(
  scope: FastifyInstance,
  paths: string[],
  take: (request: FastifyRequest, reply: FastifyReply) => Promise<IngestAnswer>,
) {
  for (const url of paths) {
    scope.post(url, { schema: { tags: ['ingest'] } }, async (request, reply) =>
      answer(await take(request, reply), reply),
    )
    scope.route({
      method: ['GET', 'PUT', 'PATCH', 'DELETE'],
      url,
      schema: { hide: true },
      handler: async (_request, reply) => {
        void reply.header('allow', 'POST, OPTIONS')
        throw new AppError('method_not_allowed', 'Events are sent with POST.')
      },
    })
  }
}

/** Always exactly 200 and a JSON object: some clients send the events of a 202, a 204 or an empty answer again. A batch
 *  without one good event is a 400 that says why with its first fault. */
function answer({ accepted, rejected, ...more }: IngestAnswer, reply: FastifyReply): object {
  const fault = accepted.length === 0 ? rejected[0] : undefined
  if (fault === undefined) return { success: true, accepted, ...(rejected.length === 0 ? {} : { rejected }), ...more }
  void reply.code(400)
  return { success: false, code: fault.code, message: fault.message, rejected }
}

const readRequest = (request: FastifyRequest): Omit<IngestRequest, 'gone'> => ({
  authorization: request.headers.authorization,
  body: request.body,
  bodyBytes: request.bodyBytes,
  receivedAt: new Date(),
  fromBrowser: request.headers.origin !== undefined || request.headers['user-agent']?.startsWith('Mozilla/') === true,
  // A socket that serves IPv4 and IPv6 writes IPv4 addresses in IPv6's notation.
  ip: () => request.ip.replace(/^::ffff:(?=\d+\.)/, ''),
  traceparent: request.traceSpan?.traceparent,
})

/** Aborts when the connection of the caller ends. */
function endOf({ raw }: FastifyReply): AbortSignal {
  const end = new AbortController()
  raw.once('close', () => end.abort())
  return end.signal
}
