import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { readDestinationActivity, readSourceActivity } from '../../db/activity.ts'
import { ActivitySchema } from '../../schemas/activity.ts'
import { OverviewQuerySchema, OverviewSchema } from '../../schemas/overview.ts'
import { readOverview, type OverviewDependencies } from './overview-figures.ts'
import { errorResponses, security } from './schemas.ts'

export const overviewRoutes: FastifyPluginAsyncZod<OverviewDependencies> = async (app, dependencies) => {
  app.get(
    '/overview',
    {
      schema: {
        tags: ['overview'],
        summary: 'What came in and what became of it',
        security,
        querystring: OverviewQuerySchema,
        response: { 200: OverviewSchema, ...errorResponses },
      },
    },
    ({ query }) => readOverview(dependencies, query),
  )

  app.get(
    '/activity',
    {
      schema: {
        tags: ['overview'],
        summary: 'How much each source sent and each destination got in the last 24 hours, and when it did last',
        security,
        response: { 200: ActivitySchema, ...errorResponses },
      },
    },
    async () => {
      const [sources, destinations] = await Promise.all([
        readSourceActivity(dependencies.database),
        readDestinationActivity(dependencies.database),
      ])
      return { sources, destinations }
    },
  )
}
