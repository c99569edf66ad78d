/** The web app, served beside the API: its files, one page for all its addresses, and the headers that keep it safe. */

import { join } from 'node:path'
import helmet from '@fastify/helmet'
import fastifyStatic, { type FastifyStaticOptions } from '@fastify/static'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { filesOf, findBuild, pagePolicy } from './built-files.ts'
import { securityHeaders } from './security-headers.ts'

const build = 'web/dist'

/** The client library for pages of other sites. */
const pageScript = 'client.js'

/** The client library, for pages and for installing. */
const clientLibrary = [pageScript, 'client.tgz']

/** Serves the built web app. A navigation to any path that nothing else answers gets the page, whose router reads the
 *  address; other requests for such paths get the 404 of the API. Without a build there is nothing to serve. */
export async function webAppRoutes(app: FastifyInstance): Promise<void> {
  const root = findBuild(build)
  if (root === undefined) {
    app.log.warn('web.not_built')
    return
  }
  await app.register(helmet, {
    contentSecurityPolicy: pagePolicy,
    ...securityHeaders,
  })
  await app.register(fastifyStatic, filesForAll(root))
  app.get<{ Params: { '*': string } }>('/*', { schema: { hide: true } }, (request, reply) =>
    reply.sendFile(isNavigation(request) ? 'index.html' : request.params['*']),
  )
}

/** Serves the client library alone, where sources send: the web app may be out of their reach. */
export async function clientLibraryRoutes(app: FastifyInstance): Promise<void> {
  const root = findBuild(build)
  if (root === undefined) return
  await app.register(fastifyStatic, filesForAll(root))
  for (const file of clientLibrary) app.get(`/${file}`, { schema: { hide: true } }, (_, reply) => reply.sendFile(file))
}

/** The client library may be loaded by pages of other sites. */
const filesForAll = (root: string): FastifyStaticOptions => {
  const files = filesOf(root)
  return {
    ...files,
    setHeaders(reply, path, stats) {
      files.setHeaders?.(reply, path, stats)
      if (path === join(root, pageScript)) void reply.header('cross-origin-resource-policy', 'cross-origin')
    },
  }
}

/** Programs that ask for a wrong path of the API must not get a page. */
const isNavigation = ({ url, headers }: FastifyRequest): boolean =>
  url === '/' || (!/^\/(api|v1|assets)(\/|$)/.test(url) && (headers.accept ?? '').includes('text/html'))
