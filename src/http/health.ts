/** Whether the process lives, and whether it can take events. */

import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import type { Readiness } from '../readiness.ts'
import { answerPrograms } from './security-headers.ts'

export interface HealthDependencies {
  /** Why the process must be started anew; undefined when it works. */
  deadReason: () => string | undefined
  /** What keeps the node from accepting events, if anything, and which parts do not answer. */
  readiness: () => Promise<Readiness>
}

export async function healthRoutes(app: FastifyInstance, { deadReason, readiness }: HealthDependencies): Promise<void> {
  answerPrograms(app)
  // Why one of them answers 503 is in the log once, not at each look.
  const quiet = { logLevel: 'error', schema: { tags: ['health'] } } as const
  app.get('/healthz', quiet, async () => {
    const reason = deadReason()
    if (reason !== undefined) throw new AppError('unavailable', reason)
    return { status: 'alive' }
  })
  app.get('/readyz', quiet, async () => {
    const { reason, missing } = await readiness()
    if (reason !== undefined) throw new AppError('unavailable', reason, { retryAfterSeconds: 1 })
    return { status: 'ready', missing }
  })
}
