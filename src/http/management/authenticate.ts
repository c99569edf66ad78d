import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'

/** A hook that lets only requests with the admin token through. Hashes are compared, so that neither the token's length
 *  nor a common beginning shows in the time that it takes.
 *  @throws AppError unauthorized (as the request's error) */
export function requireAdminToken(adminToken: string): (request: FastifyRequest) => Promise<void> {
  const expected = sha256(adminToken)
  return async ({ headers }) => {
    const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
    if (token === undefined)
      throw new AppError('unauthorized', 'send the admin token: Authorization: Bearer <admin token>')
    if (!timingSafeEqual(sha256(token), expected)) throw new AppError('unauthorized', 'the admin token is wrong')
  }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
