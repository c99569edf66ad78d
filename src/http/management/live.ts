/** Incoming events of a source as server-sent events. */

import { Readable } from 'node:stream'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import type { LiveEvents, Watcher } from '../../live/live-events.ts'
import type { Settings } from '../../settings/settings.ts'
import { errorResponses, IdParamsSchema, security } from './schemas.ts'

/** A stream ends after 15 minutes; browsers come again by themselves, with the right that they have then. */
const maxStreamMs = 15 * 60_000

/** Pause after which a sign of life is sent, in milliseconds: proxies end a silent connection after a minute or less. */
const signOfLifeMs = 15_000

const watchRetrySeconds = 30

export interface LiveDependencies {
  settings: Settings
  liveEvents: LiveEvents
}

export const liveRoutes: FastifyPluginAsyncZod<LiveDependencies> = async (app, { settings, liveEvents }) => {
  // A stream would hold up the end of the server.
  app.addHook('preClose', async () => liveEvents.close())

  app.get(
    '/sources/:id/live',
    {
      // A stream stays open.
      config: { needs: [] },
      // Each event is shown when it comes, and not when a block of them can be compressed.
      compress: false,
      schema: {
        tags: ['sources'],
        summary: 'Events of the source as they come in to this node (server-sent events)',
        description:
          'Each `message` is one event with its fate: `{at, type, event, userId, messageId, fate, reason?, deliveryId?}`. ' +
          'An event `dropped` says how many could not be shown since the last one: `{dropped}`.',
        security,
        params: IdParamsSchema,
        response: {
          200: {
            description: 'The stream.',
            content: { 'text/event-stream': { schema: z.unknown().meta({ type: 'string' }) } },
          },
          ...errorResponses,
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      if (settings.source(id) === undefined) throw new AppError('not_found', `no source has the id ${id}`)
      const watcher = liveEvents.watch(id)
      if (watcher === undefined)
        throw new AppError('too_many_requests', 'as many pages show live events as a node serves: close one of them', {
          retryAfterSeconds: watchRetrySeconds,
        })
      reply.raw.once('close', () => watcher.close())
      void reply.headers({
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        // A connection that a stream kept busy would outlive the end of the server.
        connection: 'close',
        // Proxies such as nginx would collect the events otherwise.
        'x-accel-buffering': 'no',
      })
      return reply.send(Readable.from(eventStream(watcher)))
    },
  )
}

async function* eventStream(watcher: Watcher): AsyncGenerator<string> {
  const end = performance.now() + maxStreamMs
  try {
    // Something at once: it tells the browser that the stream is open.
    yield ': open\n\n'
    while (performance.now() < end) {
      const batch = await watcher.next(signOfLifeMs)
      if (batch === undefined) return
      const lines = batch.events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
      if (batch.dropped > 0) lines.push(`event: dropped\ndata: ${JSON.stringify({ dropped: batch.dropped })}\n\n`)
      yield lines.length > 0 ? lines.join('') : ': alive\n\n'
    }
  } finally {
    watcher.close()
  }
}
