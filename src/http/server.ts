/** The HTTP server: ingest API, management API, health. Built as a value, so that tests and production start the same. */

import fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { Logger } from '../logger.ts'
import { speakPlainly } from '../schemas/plain-words.ts'
import type { IngestPort } from '../ingest/port.ts'
import { endConnectionsOnClose } from './end-connections.ts'
import type { Tracing } from '../tracing/port.ts'
import { answerErrors } from './errors.ts'
import { helpRoutes } from './help.ts'
import { ingestRoutes, type IngestOptions } from './ingest/plugin.ts'
import { ingestServerOptions } from './ingest/server-options.ts'
import { healthRoutes, type HealthDependencies } from './health.ts'
import { metricsRoute } from './metrics.ts'
import type { RequestMetrics } from './request-metrics.ts'
import { operatorRoutes, type OperatorDependencies } from './management/operators.ts'
import { describeRoutes } from './openapi.ts'
import { limitClients, type ClientLimits } from './slow-clients.ts'
import { clientLibraryRoutes, webAppRoutes } from './web-app.ts'

/** Longest id in a path, in characters; Fastify's own limit is 100. */
const maxParamLength = 400

export interface ServerDependencies extends OperatorDependencies, HealthDependencies {
  registry: Registry
  ingest: IngestPort
  ingestOptions: Omit<IngestOptions, 'port'>
  /** CIDRs of proxies that tell the caller's address, host and protocol in `X-Forwarded-*` headers. */
  trustedProxies: string[]
  limits: ClientLimits
  requestMetrics: RequestMetrics
  /** Absent: off. */
  tracing?: Tracing | undefined
  logger: Logger
}

/** What a server offers beside health: everything; the ingest API with the client library, where all else has a port of its own; or the figures alone,
 *  on a node that only delivers. */
export type Offers = 'all' | 'ingest' | 'metrics'

export async function buildServer(dependencies: ServerDependencies, offers: Offers = 'all'): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = dependencies.logger
  const clients = limitClients(dependencies.limits)
  const server = fastify({
    ...ingestServerOptions,
    routerOptions: { ...ingestServerOptions.routerOptions, maxParamLength },
    trustProxy: dependencies.trustedProxies,
    loggerInstance,
    // One line per request would be a line per event.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    forceCloseConnections: 'idle',
    ...clients.options,
  })
  speakPlainly()
  server.setValidatorCompiler(validatorCompiler)
  server.setSerializerCompiler(serializerCompiler)
  answerErrors(server)
  endConnectionsOnClose(server)
  clients.apply(server)
  dependencies.requestMetrics.watch(server)
  if (offers === 'all') await describeRoutes(server)
  await server.register(healthRoutes, dependencies)
  if (offers !== 'ingest') await server.register(metricsRoute, dependencies)
  if (offers === 'metrics') return server
  const { ingest: port, ingestOptions, tracing } = dependencies
  await server.register(ingestRoutes, { ...ingestOptions, port, tracing })
  if (offers === 'ingest') {
    await server.register(clientLibraryRoutes)
    return server
  }
  await server.register((scope) => operatorRoutes(scope, dependencies))
  await server.register(helpRoutes, { prefix: '/help' })
  await server.register(webAppRoutes)
  return server
}
