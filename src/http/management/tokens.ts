import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { TokenStore } from '../../db/tokens.ts'
import { ApiTokenSchema, CreatedApiTokenSchema, NewApiTokenSchema } from '../../schemas/access.ts'
import { DoneSchema, errorResponses, IdParamsSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

const tags = ['tokens']

export const tokenRoutes: FastifyPluginAsyncZod<{ tokens: TokenStore }> = async (app, { tokens }) => {
  app.get(
    '/tokens',
    {
      schema: {
        tags,
        security,
        querystring: PageQuerySchema,
        response: { 200: pageSchema(ApiTokenSchema), ...errorResponses },
      },
    },
    ({ query }) => tokens.list(query),
  )

  app.post(
    '/tokens',
    {
      schema: {
        tags,
        security,
        body: NewApiTokenSchema,
        response: { 201: CreatedApiTokenSchema, ...errorResponses },
      },
    },
    async ({ body }, reply) => reply.code(201).send(await tokens.create(body)),
  )

  app.delete(
    '/tokens/:id',
    { schema: { tags, security, params: IdParamsSchema, response: { 200: DoneSchema, ...errorResponses } } },
    async ({ params }) => {
      await tokens.revoke(params.id)
      return { success: true as const }
    },
  )
}
