/** Whether the process lives, whether it can take events, and its figures. */

import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { AppError } from '../errors.ts'

export interface HealthDependencies {
  /** What keeps the node from accepting events; undefined when nothing does. */
  notReadyReason: () => Promise<string | undefined>
  registry: Registry
}

export async function healthRoutes(
  app: FastifyInstance,
  { notReadyReason, registry }: HealthDependencies,
): Promise<void> {
  app.get('/healthz', { schema: { tags: ['health'] } }, async () => ({ status: 'alive' }))
  app.get('/readyz', { schema: { tags: ['health'] } }, async () => {
    const reason = await notReadyReason()
    if (reason !== undefined) throw new AppError('unavailable', reason, { retryAfterSeconds: 1 })
    return { status: 'ready' }
  })
  app.get('/metrics', { schema: { tags: ['health'] } }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return registry.metrics()
  })
}
