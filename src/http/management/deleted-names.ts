import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Database } from '../../db/database.ts'
import { findDeletedNames } from '../../db/deleted-names.ts'
import { DeletedNameFilterSchema, DeletedNameSchema } from '../../schemas/deleted-name.ts'
import { errorResponses, pageSchema, security } from './schemas.ts'

/** What deleted things were called, for lists that still name them. */
export const deletedNameRoutes: FastifyPluginAsyncZod<{ database: Database }> = async (app, { database }) => {
  app.get(
    '/deleted-names',
    {
      schema: {
        tags: ['catalog'],
        summary: 'What deleted sources, destinations and audiences were called: the last 10,000',
        security,
        querystring: DeletedNameFilterSchema,
        response: { 200: pageSchema(DeletedNameSchema), ...errorResponses },
      },
    },
    async ({ query: { ids } }) => ({ items: await findDeletedNames(database, ids), nextCursor: null }),
  )
}
