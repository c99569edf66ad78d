/** Whether the process lives, and whether it can take events. */

import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'

export interface HealthDependencies {
  /** What keeps the node from accepting events; undefined when nothing does. */
  notReadyReason: () => Promise<string | undefined>
}

export async function healthRoutes(app: FastifyInstance, { notReadyReason }: HealthDependencies): Promise<void> {
  app.get('/healthz', { schema: { tags: ['health'] } }, async () => ({ status: 'alive' }))
  app.get('/readyz', { schema: { tags: ['health'] } }, async () => {
    const reason = await notReadyReason()
    if (reason !== undefined) throw new AppError('unavailable', reason, { retryAfterSeconds: 1 })
    return { status: 'ready' }
  })
}
