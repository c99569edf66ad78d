/** Built files that are served beside the API. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyStaticOptions } from '@fastify/static'

/** Names under `assets/` carry a hash of their content. */
const immutableSeconds = 365 * 24 * 3600

/** Scripts come from here alone and none stands in a page; components set styles on elements. */
export const pagePolicy = {
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

/** A build, seen from `src/http` or from `dist/src/http`; undefined where nothing is built.
 *  @param folder  below the root of the package, as in `web/dist` */
export function findBuild(folder: string): string | undefined {
  const candidates = [`../../${folder}`, `../../../${folder}`].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return candidates.find((path) => existsSync(join(path, 'index.html')))
}

/** How the files of a build are sent: compressed already, and kept by browsers where their name tells what is in them. */
export const filesOf = (root: string): FastifyStaticOptions => ({
  root,
  serve: false,
  preCompressed: true,
  index: false,
  cacheControl: false,
  setHeaders(reply, path) {
    const isHashed = path.startsWith(join(root, 'assets'))
    const value = isHashed ? `public, max-age=${immutableSeconds}, immutable` : 'no-cache'
    void reply.header('cache-control', value)
  },
})
