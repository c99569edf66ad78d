/** Requests of endpoints that fetch them: a listener asks for what waits, and answers each. */

import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Database } from '../../db/database.ts'
import type { DestinationStore } from '../../db/destinations.ts'
import {
  answerListenRequest,
  destinationsWithRequests,
  endLease,
  leaseListening,
  takeListenRequests,
} from '../../db/listen-requests.ts'
import { AppError } from '../../errors.ts'
import { createLookout } from '../../lookout.ts'
import {
  FetchedRequestsSchema,
  FetchRequestsSchema,
  LeaveRequestsSchema,
  maxFetched,
  maxFetchWaitSeconds,
  RequestAnswerSchema,
  type FetchedRequest,
} from '../../schemas/listen-request.ts'
import type { SecretBox } from '../../secrets.ts'
import { DoneSchema, errorResponses, IdParamsSchema, security } from './schemas.ts'

/** Pause before each look for requests, one for all listeners of a node, in milliseconds. */
const lookMs = 200

/** For how long a listener is the one that fetches; each call begins it anew. */
const leaseSeconds = maxFetchWaitSeconds + 10

/** Most calls that wait on a node. */
const maxWaiting = 100

export interface FetchDependencies {
  database: Database
  secrets: SecretBox
  destinations: DestinationStore
}

const tags = ['destinations']

export const fetchRoutes: FastifyPluginAsyncZod<FetchDependencies> = async (
  app,
  { database, secrets, destinations },
) => {
  const lookout = createLookout((ids) => destinationsWithRequests(database, ids), lookMs)
  const ends = new Set<AbortController>()
  // A call that waits would hold up the end of the server.
  app.addHook('preClose', async () => ends.forEach((end) => end.abort()))

  /** Takes what is there, or waits for it. */
  const take = async (id: string, listener: string, waitMs: number, end: AbortSignal): Promise<FetchedRequest[]> => {
    const endsAt = performance.now() + waitMs
    while (!end.aborted) {
      const requests = await takeListenRequests(database, secrets, id, listener, maxFetched)
      const leftMs = endsAt - performance.now()
      if (requests.length > 0 || leftMs <= 0) return requests
      await lookout.wait(id, leftMs, end)
    }
    return []
  }

  app.post(
    '/destinations/:id/requests/fetch',
    {
      config: { audit: false },
      schema: {
        tags,
        summary: 'Take the requests that wait for endpoints at `*.listen.invalid`, and become their listener',
        description:
          'For receivers that the node does not reach. Each request is handed out once, and is an attempt that fails unless it is ' +
          'answered in the time that its endpoint has. Another listener gets 409, until this one leaves or cuts its call off, or for 30 ' +
          'seconds after its last call.',
        security,
        params: IdParamsSchema,
        body: FetchRequestsSchema,
        response: { 200: FetchedRequestsSchema, ...errorResponses },
      },
    },
    async ({ params: { id }, body: { listener, waitSeconds } }, reply) => {
      const caller = watchCaller(reply)
      await destinations.get(id)
      if (ends.size >= maxWaiting)
        throw new AppError('too_many_requests', 'as many listeners wait as a node serves', { retryAfterSeconds: 30 })
      if (!(await leaseListening(database, id, listener, leaseSeconds)))
        throw new AppError('conflict', 'another listener fetches the requests of this destination')
      ends.add(caller.gone)
      try {
        return { requests: await take(id, listener, waitSeconds * 1_000, caller.gone.signal) }
      } finally {
        ends.delete(caller.gone)
        if (caller.hasCutOff()) await endLease(database, id, listener)
      }
    },
  )

  app.post(
    '/destinations/:id/requests/leave',
    {
      config: { audit: false },
      schema: {
        tags,
        summary: 'End a listener, so that another one may fetch at once',
        security,
        params: IdParamsSchema,
        body: LeaveRequestsSchema,
        response: { 200: DoneSchema, ...errorResponses },
      },
    },
    async ({ params: { id }, body: { listener } }) => {
      await endLease(database, id, listener)
      return { success: true as const }
    },
  )

  app.post(
    '/destinations/:id/requests/:requestId/answer',
    {
      config: { audit: false },
      schema: {
        tags,
        summary: 'Answer a request that was fetched',
        security,
        params: IdParamsSchema.extend({ requestId: z.string() }),
        body: RequestAnswerSchema,
        response: { 200: DoneSchema, ...errorResponses },
      },
    },
    async ({ params: { id, requestId }, body: { status } }) => {
      if (!(await answerListenRequest(database, id, requestId, status)))
        throw new AppError('not_found', `no request ${requestId} waits for an answer: its attempt is over`)
      return { success: true as const }
    },
  )
}

/** Tells when nobody waits for an answer any more: it was given, or its caller has gone. */
function watchCaller({ raw }: FastifyReply): { gone: AbortController; hasCutOff: () => boolean } {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  else raw.once('close', () => gone.abort())
  return { gone, hasCutOff: () => raw.destroyed && !raw.writableFinished }
}
