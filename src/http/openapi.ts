/** The description of all routes at `/openapi.json`, and the page at `/docs` that shows it. */

import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { documentedRoutes } from './documented-routes.ts'

/** Scripts come from here alone; the page sets styles on its elements. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Registers the description; routes that come after it are in it. */
export async function describeRoutes(server: FastifyInstance): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Postrider', version: '1', description: 'Ingest and management API' },
      components: {
        securitySchemes: {
          adminToken: { type: 'http', scheme: 'bearer', description: 'The admin token, or an API token' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: 'postrider_session',
            description: 'A session; requests that change something also carry the header `x-postrider-csrf: 1`',
          },
          writeKey: { type: 'http', scheme: 'basic', description: 'Write key of a source as user name, no password' },
        },
      },
    },
    transform: (route) => {
      const documented = documentedRoutes[route.url]
      return jsonSchemaTransform(documented ? { ...route, schema: { ...route.schema, ...documented } } : route)
    },
    // Schemas that have an id, as recursive ones must: others refer to them.
    transformObject: jsonSchemaTransformObject,
  })
  server.get('/openapi.json', { schema: { hide: true } }, async () => server.swagger())
  await server.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { validatorUrl: null },
    staticCSP: true,
    transformStaticCSP: () => contentSecurityPolicy,
  })
}
