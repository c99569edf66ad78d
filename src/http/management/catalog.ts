import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { eventTypes } from '../../schemas/message.ts'
import { CatalogItemSchema, type CatalogItem } from '../../schemas/system.ts'
import { errorResponses, pageSchema, security } from './schemas.ts'

/** `spec/`, "What the service does". */
const webhooks: CatalogItem = {
  type: 'webhooks',
  name: 'Webhooks',
  description:
    'Forwards every event of the connected sources to up to five HTTP endpoints of yours, signed and retried.',
  connectionMode: 'cloud',
  sourceTypes: 'all',
  eventTypes: [...eventTypes],
}

/** What can be connected. */
export const catalogRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/catalog',
    { schema: { tags: ['catalog'], security, response: { 200: pageSchema(CatalogItemSchema), ...errorResponses } } },
    async () => ({ items: [webhooks], nextCursor: null }),
  )
}
