/** The web app, served beside the API: its files, one page for all its addresses, and the headers that keep it safe. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import helmet from '@fastify/helmet'
import fastifyStatic, { type FastifyStaticOptions } from '@fastify/static'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { securityHeaders } from './security-headers.ts'

/** Names under `assets/` carry a hash of their content. */
const immutableSeconds = 365 * 24 * 3600

/** The client library for pages of other sites. */
const pageScript = 'client.js'

/** The client library, for pages and for installing. */
const clientLibrary = [pageScript, 'client.tgz']

/** Scripts come from here alone and none stands in a page; the component library sets styles on elements. */
const contentSecurityPolicy = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'", "'unsafe-inline'"],
    imgSrc: ["'self'", 'data:'],
    fontSrc: ["'self'"],
    connectSrc: ["'self'"],
    manifestSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
}

/** Serves the built web app. A navigation to any path that nothing else answers gets the page, whose router reads the
 *  address; other requests for such paths get the 404 of the API. Without a build there is nothing to serve. */
export async function webAppRoutes(app: FastifyInstance): Promise<void> {
  const root = findBuild()
  if (root === undefined) {
    app.log.warn('web.not_built')
    return
  }
  await app.register(helmet, {
    contentSecurityPolicy,
    ...securityHeaders,
  })
  await app.register(fastifyStatic, filesOf(root))
  app.get<{ Params: { '*': string } }>('/*', { schema: { hide: true } }, (request, reply) =>
    reply.sendFile(isNavigation(request) ? 'index.html' : request.params['*']),
  )
}

/** Serves the client library alone, where sources send: the web app may be out of their reach. */
export async function clientLibraryRoutes(app: FastifyInstance): Promise<void> {
  const root = findBuild()
  if (root === undefined) return
  await app.register(fastifyStatic, filesOf(root))
  for (const file of clientLibrary) app.get(`/${file}`, { schema: { hide: true } }, (_, reply) => reply.sendFile(file))
}

const filesOf = (root: string): FastifyStaticOptions => ({
  root,
  serve: false,
  preCompressed: true,
  index: false,
  cacheControl: false,
  setHeaders(reply, path) {
    const isHashed = path.startsWith(join(root, 'assets'))
    const value = isHashed ? `public, max-age=${immutableSeconds}, immutable` : 'no-cache'
    void reply.header('cache-control', value)
    if (path === join(root, pageScript)) void reply.header('cross-origin-resource-policy', 'cross-origin')
  },
})

/** Programs that ask for a wrong path of the API must not get a page. */
const isNavigation = ({ url, headers }: FastifyRequest): boolean =>
  url === '/' || (!/^\/(api|v1|assets)(\/|$)/.test(url) && (headers.accept ?? '').includes('text/html'))

/** `web/dist`, seen from `src/http` or from `dist/src/http`. */
function findBuild(): string | undefined {
  const candidates = ['../../web/dist', '../../../web/dist'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return candidates.find((path) => existsSync(join(path, 'index.html')))
}
