/** The figures of the node for Prometheus. */

import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

export async function metricsRoute(app: FastifyInstance, { registry }: { registry: Registry }): Promise<void> {
  app.get('/metrics', { schema: { tags: ['health'] } }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return registry.metrics()
  })
}
