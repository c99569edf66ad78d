/** The documentation at `/help`, built from the repository's pages by `site`. */

import { extname } from 'node:path'
import helmet from '@fastify/helmet'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import { filesOf, findBuild, pagePolicy } from './built-files.ts'
import { securityHeaders } from './security-headers.ts'

const hidden = { schema: { hide: true } }

/** Serves the pages of the build, each under its name without `.html`, below the prefix that it is registered with. Without a
 *  build it says so.
 *  @param folder  of the build, below the root of the package */
export async function helpRoutes(app: FastifyInstance, { folder = 'site/dist' } = {}): Promise<void> {
  const root = findBuild(folder)
  if (root === undefined) {
    app.log.warn('help.not_built')
    for (const path of ['/', '/*']) app.get(path, hidden, tellNotBuilt)
    return
  }
  await app.register(helmet, { contentSecurityPolicy: pagePolicy, ...securityHeaders })
  await app.register(fastifyStatic, filesOf(root))
  app.get('/', hidden, (request, reply) =>
    request.url.startsWith(`${app.prefix}/`) ? reply.sendFile('index.html') : reply.redirect(`${app.prefix}/`),
  )
  app.get<{ Params: { '*': string } }>('/*', hidden, (request, reply) => reply.sendFile(fileOf(request.params['*'])))
  app.setNotFoundHandler((_, reply) => reply.code(404).sendFile('404.html'))
}

const tellNotBuilt = async (): Promise<never> => {
  throw new AppError('not_found', 'The documentation is not built on this node. Build it with: npm run build')
}

const fileOf = (path: string): string => (extname(path) === '' ? `${path}.html` : path)
