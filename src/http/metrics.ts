/** The figures of the node for Prometheus. */

import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { answerPrograms } from './security-headers.ts'

export async function metricsRoute(app: FastifyInstance, { registry }: { registry: Registry }): Promise<void> {
  answerPrograms(app)
  app.get('/metrics', { schema: { tags: ['health'] } }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return registry.metrics()
  })
}
