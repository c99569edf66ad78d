import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { DeletionRequests } from '../../deletions/deletion-requests.ts'
import {
  DeletionRequestDetailSchema,
  DeletionRequestSchema,
  LiftedSuppressionsSchema,
  LiftSuppressionsSchema,
  NewDeletionRequestSchema,
} from '../../schemas/deletion-request.ts'
import { errorResponses, IdParamsSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

export interface DeletionRouteDependencies {
  deletionRequests: DeletionRequests
}

const tags = ['deletion requests']

/** Longest body, in bytes: 5,000 user ids of 200 characters and more. */
const bodyLimit = 4 * 1_024 * 1_024

export const deletionRequestRoutes: FastifyPluginAsyncZod<DeletionRouteDependencies> = async (
  app,
  { deletionRequests },
) => {
  app.post(
    '/deletion-requests',
    {
      bodyLimit,
      schema: {
        tags,
        security,
        body: NewDeletionRequestSchema,
        response: { 202: DeletionRequestDetailSchema, ...errorResponses },
      },
    },
    async ({ body }, reply) => reply.code(202).send(await deletionRequests.create(body)),
  )

  app.get(
    '/deletion-requests',
    {
      schema: {
        tags,
        security,
        querystring: PageQuerySchema,
        response: { 200: pageSchema(DeletionRequestSchema), ...errorResponses },
      },
    },
    ({ query }) => deletionRequests.list(query),
  )

  app.get(
    '/deletion-requests/:id',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        response: { 200: DeletionRequestDetailSchema, ...errorResponses },
      },
    },
    ({ params }) => deletionRequests.read(params.id),
  )

  app.post(
    '/suppressions/lift',
    {
      bodyLimit,
      schema: {
        tags,
        security,
        body: LiftSuppressionsSchema,
        response: { 200: LiftedSuppressionsSchema, ...errorResponses },
      },
    },
    ({ body }) => deletionRequests.lift(body),
  )
}
