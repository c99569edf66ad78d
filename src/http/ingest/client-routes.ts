/** What the browser library asks for besides sending events. */

import type {} from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import type { IngestPort } from '../../ingest/port.ts'
import { ignoreContentType } from '../json-body.ts'

interface ClientOptions {
  port: Pick<IngestPort, 'findSource'>
  /** Give settings for unknown write keys and switched-off sources too. */
  lenientAuth: boolean
}

/** Registers the browser library's settings and the sink for its metrics. */
export async function clientRoutes(scope: FastifyInstance, { port, lenientAuth }: ClientOptions): Promise<void> {
  scope.get<{ Params: { writeKey: string } }>(
    '/projects/:writeKey/settings',
    { schema: { tags: ['ingest'] } },
    async ({ params: { writeKey }, protocol, host }) => {
      if (port.findSource(writeKey)?.enabled !== true && !lenientAuth)
        throw new AppError('unknown_write_key', 'No source that is switched on has this write key.')
      return librarySettings(writeKey, protocol, `${host}/v1`)
    },
  )

  // The library's counters about itself: any body is thrown away unread, whatever it is.
  await scope.register(async (sink) => {
    sink.removeAllContentTypeParsers()
    sink.addHook('onRequest', ignoreContentType)
    sink.addContentTypeParser('*', (_request, _payload, done) => done(null))
    sink.post('/m', { schema: { hide: true } }, async () => ({ success: true }))
  })
}

/** Settings in the browser library's format. Without an `apiHost` it would send events, and without one among the
 *  metrics its counters, to its vendor. */
const librarySettings = (writeKey: string, protocol: string, apiHost: string) => ({
  integrations: {
    'Segment.io': {
      apiKey: writeKey,
      apiHost,
      protocol,
      addBundledMetadata: true,
      unbundledIntegrations: [],
      maybeBundledConfigIds: {},
    },
  },
  metrics: { sampleRate: 0, host: apiHost },
  plan: { track: { __default: { enabled: true, integrations: {} } } },
  edgeFunction: {},
  analyticsNextEnabled: true,
  remotePlugins: [],
})
