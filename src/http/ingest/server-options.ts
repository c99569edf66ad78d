/** What the ingest routes ask of the server that they are registered on. */

import type { FastifyServerOptions } from 'fastify'
import { sendError } from '../errors.ts'

/** Options for `fastify()`: clients end paths with a slash, or double one where their host setting ends with it, and
 *  must never be redirected; a URL that cannot be decoded is answered in the shape of all errors. */
export const ingestServerOptions = {
  routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
  frameworkErrors: sendError,
} satisfies FastifyServerOptions
