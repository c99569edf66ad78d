import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
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
}
