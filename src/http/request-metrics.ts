/** Figures of HTTP requests for Prometheus. */

import type { FastifyInstance } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'
import { asksToWait } from './waiting-requests.ts'

/** Upper bounds in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export interface RequestMetrics {
  /** Counts the requests of a server from now on. */
  watch(server: FastifyInstance): void
}

export function createRequestMetrics(registry: Registry): RequestMetrics {
  const requests = new Counter({
    name: 'postrider_http_requests_total',
    help: 'HTTP requests that were answered, by route and status',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  })
  const ingest = new Histogram({
    name: 'postrider_ingest_duration_seconds',
    help: 'Time from a request to the ingest API to its answer',
    buckets,
    registers: [registry],
  })
  return {
    watch(server) {
      server.addHook('onResponse', (request, reply, done) => {
        const { url: route = 'none', schema } = request.routeOptions
        requests.inc({ method: request.method, route, status: reply.statusCode })
        const isIngest = request.method === 'POST' && schema?.tags?.includes('ingest') === true
        // Who asks to wait is not answered late.
        if (isIngest && asksToWait(request).wait === undefined) ingest.observe(reply.elapsedTime / 1_000)
        done()
      })
    },
  }
}
