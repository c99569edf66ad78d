import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { brokenBound } from '../../ingest/measure.ts'

/** Hook `preValidation` of routes whose schema is recursive, which would follow any nesting.
 *  @throws AppError bad_request */
export async function expectShallow({ body }: FastifyRequest): Promise<void> {
  if (brokenBound(body, 0) === 'too_deep') throw new AppError('bad_request', 'The body is nested too deep.')
}
