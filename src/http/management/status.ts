import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { StatusSchema, type Status } from '../../schemas/system.ts'
import { errorResponses, security } from './schemas.ts'

export interface StatusRouteDependencies {
  readStatus: () => Promise<Status>
}

/** How the node and what it stands on do. */
export const statusRoutes: FastifyPluginAsyncZod<StatusRouteDependencies> = async (app, { readStatus }) => {
  app.get(
    '/status',
    {
      // It tells how the parts do.
      config: { needs: [] },
      schema: {
        tags: ['overview'],
        summary: 'Versions, and how Temporal and the database do',
        security,
        response: { 200: StatusSchema, ...errorResponses },
      },
    },
    () => readStatus(),
  )
}
