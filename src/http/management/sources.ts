import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Database } from '../../db/database.ts'
import {
  createSource,
  deleteSource,
  endPreviousKeys,
  getSource,
  listSources,
  rotateWriteKey,
  updateSource,
} from '../../db/sources.ts'
import { NewSourceSchema, RotateKeySchema, SourcePatchSchema, SourceSchema } from '../../schemas/source.ts'
import type { Settings } from '../../settings/settings.ts'
import { tagged, unchangedCheck } from './entity-tag.ts'
import {
  DoneSchema,
  errorResponses,
  IdParamsSchema,
  NameRuleSchema,
  PageQuerySchema,
  pageSchema,
  security,
} from './schemas.ts'

export interface SourceDependencies {
  database: Database
  settings: Settings
}

const tags = ['sources']

export const sourceRoutes: FastifyPluginAsyncZod<SourceDependencies> = async (app, { database, settings }) => {
  app.get(
    '/sources',
    {
      schema: {
        tags,
        security,
        querystring: PageQuerySchema,
        response: { 200: pageSchema(SourceSchema), ...errorResponses },
      },
    },
    ({ query }) => listSources(database, query),
  )

  app.post(
    '/sources',
    {
      schema: {
        tags,
        security,
        querystring: NameRuleSchema,
        body: NewSourceSchema,
        response: { 201: SourceSchema, ...errorResponses },
      },
    },
    async ({ body, query }, reply) => {
      const source = await createSource(database, body, query)
      await settings.refresh()
      return reply.code(201).send(source)
    },
  )

  app.get(
    '/sources/:id',
    { schema: { tags, security, params: IdParamsSchema, response: { 200: SourceSchema, ...errorResponses } } },
    async (request, reply) => tagged(request, reply, await getSource(database, request.params.id)),
  )

  app.patch(
    '/sources/:id',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        querystring: NameRuleSchema,
        body: SourcePatchSchema,
        response: { 200: SourceSchema, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, query, body } = request
      const check = unchangedCheck(request, body)
      const source = await updateSource(database, params.id, body, { ...query, check })
      await settings.refresh()
      return tagged(request, reply, source)
    },
  )

  app.delete(
    '/sources/:id',
    { schema: { tags, security, params: IdParamsSchema, response: { 200: DoneSchema, ...errorResponses } } },
    async ({ params }) => {
      await deleteSource(database, params.id)
      await settings.refresh()
      return { success: true as const }
    },
  )

  app.post(
    '/sources/:id/rotate-key',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        body: RotateKeySchema.nullish(),
        response: { 200: SourceSchema, ...errorResponses },
      },
    },
    async ({ params, body }) => {
      const source = await rotateWriteKey(database, params.id, body?.overlapSeconds ?? 0)
      await settings.refresh()
      return source
    },
  )

  app.delete(
    '/sources/:id/previous-keys',
    { schema: { tags, security, params: IdParamsSchema, response: { 200: SourceSchema, ...errorResponses } } },
    async ({ params }) => {
      const source = await endPreviousKeys(database, params.id)
      await settings.refresh()
      return source
    },
  )
}
