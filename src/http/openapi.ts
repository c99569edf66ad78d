/** The description of all routes at `/openapi.json`, and the page at `/docs` that shows it. */

import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { apiPage } from './api-page.ts'
import { documentedRoutes } from './documented-routes.ts'
import { completeDocument } from './openapi-document.ts'
import { nameSchemas } from './openapi-schemas.ts'

const tags = [
  { name: 'ingest', description: 'Sending events, with the write key of a source' },
  { name: 'health', description: 'For supervisors and Prometheus' },
  { name: 'session', description: 'Signing in to the web app' },
  { name: 'tokens', description: 'API tokens of programs and people' },
  { name: 'audit-log', description: 'Who changed what' },
  { name: 'alerts', description: 'Who is told that something is wrong, when, and what was told' },
  { name: 'overview', description: 'Figures and state of the installation' },
  { name: 'catalog', description: 'Types of sources and destinations' },
  { name: 'sources', description: 'Where events come from' },
  { name: 'destinations', description: 'Where events go' },
  { name: 'events', description: 'Events that became no delivery' },
  { name: 'deliveries', description: 'Events on their way, and what became of them' },
  { name: 'audiences', description: 'Groups of users, and their syncs' },
  { name: 'deletion requests', description: 'Users who asked to be forgotten' },
  { name: 'settings', description: 'All settings together' },
  { name: 'codec', description: 'Payloads of Temporal, for its UI' },
]

/** Registers the description; routes that come after it are in it. */
export async function describeRoutes(server: FastifyInstance): Promise<void> {
  nameSchemas()
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Postrider',
        version: '1',
        description: 'Ingest and management API',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This node' }],
      // Of operations that say nothing else.
      security: [{}],
      tags,
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
    transformObject: (document) => completeDocument(jsonSchemaTransformObject(document)),
  })
  server.get('/openapi.json', { schema: { hide: true } }, async () => server.swagger())
  await server.register(swaggerUi, apiPage)
}
