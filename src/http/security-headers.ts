/** Headers that keep browsers from misusing what a server answers. */

import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

/** What pages and API have in common. */
export const securityHeaders = {
  frameguard: { action: 'deny' },
  referrerPolicy: { policy: 'no-referrer' },
  // Whether the site has HTTPS is known to the proxy before it; without HTTPS browsers warn of the other two.
  strictTransportSecurity: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
} satisfies FastifyHelmetOptions

/** Answers of the routes that are registered on `scope` afterwards, thousands a second, are for programs: nobody keeps them, and no browser takes
 *  them for something else than they say. */
export function answerPrograms(scope: FastifyInstance): void {
  scope.addHook('onRequest', (_request, reply, done) => {
    void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    done()
  })
}

/** Answers of the routes that are registered on `scope` afterwards are no pages, and nobody keeps them: they have users and secrets. */
export async function answerPrivately(scope: FastifyInstance): Promise<void> {
  await scope.register(helmet, {
    ...securityHeaders,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
  })
  scope.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'))
}
