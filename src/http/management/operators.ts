/** What operators call, each known by a token or a session: the management API, and the codec server for the Temporal UI. */

import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { noteRefusedSignIn } from '../../db/audit-log.ts'
import { answerPrivately } from '../security-headers.ts'
import { createGate } from './authenticate.ts'
import { codecRoutes } from './codec.ts'
import { managementRoutes, type ManagementDependencies } from './plugin.ts'
import { countWrongTries } from './wrong-tries.ts'

/** Shorter answers fit into one packet anyway. */
const compressedFromBytes = 1_400

export interface OperatorDependencies extends Omit<ManagementDependencies, 'gate' | 'admit'> {
  adminToken: string
  /** Keys that sign session cookies, the first of them new ones. */
  sessionKeys: Buffer[]
}

export async function operatorRoutes(app: FastifyInstance, dependencies: OperatorDependencies): Promise<void> {
  const { adminToken, sessionKeys, tokens, database, partLimits, logger } = dependencies
  await answerPrivately(app)
  // Lists of JSON shrink to a sixth; gzip alone, as Brotli costs the processor more than it spares a network.
  await app.register(compress, { globalDecompression: false, encodings: ['gzip'], threshold: compressedFromBytes })
  await app.register(cookie, { secret: sessionKeys })
  await app.register(rateLimit, { global: false })
  const wrongTries = countWrongTries(app, {
    refusedSignIn: (address, tries) =>
      void noteRefusedSignIn(database, address, tries).catch((error: Error) =>
        logger.error({ error: error.message }, 'audit.not_written'),
      ),
  })
  const gate = createGate(adminToken, tokens, wrongTries)
  const admit = (request: FastifyRequest) => partLimits.whilePresent(['database'], () => gate.admit(request))
  app.decorateRequest('actor', null)
  await app.register((scope) => managementRoutes(scope, { ...dependencies, gate, admit }), { prefix: '/api/v1' })
  await app.register(codecRoutes, { ...dependencies, admit, prefix: '/codec' })
}
