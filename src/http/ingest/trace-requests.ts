/** Spans of the requests to the ingest API. */

import type { FastifyInstance } from 'fastify'
import type { TraceSpan, Tracing } from '../../tracing/port.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent where tracing is off. */
    traceSpan?: TraceSpan | null
  }
}

/** Each request that posts events is a span: part of the caller's trace when it sends `traceparent`. */
export function traceRequests(scope: FastifyInstance, tracing: Tracing): void {
  scope.decorateRequest('traceSpan', null)
  scope.addHook('onRequest', (request, _reply, done) => {
    const { method, headers, protocol } = request
    const { url: route = '' } = request.routeOptions
    const { traceparent } = headers
    if (method === 'POST')
      request.traceSpan = tracing.begin({
        name: `POST ${route}`,
        kind: 'server',
        parent: typeof traceparent === 'string' ? traceparent : undefined,
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'url.path': route,
          'url.scheme': protocol,
        },
      })
    done()
  })
  scope.addHook('onResponse', ({ traceSpan }, { statusCode }, done) => {
    traceSpan?.end({ 'http.response.status_code': statusCode }, statusCode >= 500 ? String(statusCode) : undefined)
    done()
  })
}
