/** Syncs of an audience: start, look at, steer, take back. */

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { changeMessageId } from '../../audiences/identify.ts'
import { changeWorkflowId } from '../../contracts/audience-sync.ts'
import { confirmSync, getSync, listSyncs, readSync, reasonNotToUndo, requestStop } from '../../db/audiences-syncs.ts'
import { listSyncUsers } from '../../db/audiences-sync-users.ts'
import { AppError } from '../../errors.ts'
import {
  AudienceSchema,
  MemberSearchSchema,
  PreviewSchema,
  SyncSchema,
  SyncUserOutcomeSchema,
  SyncUserSchema,
  type SyncUser,
} from '../../schemas/audience.ts'
import { backfill, putSchedule } from '../../temporal/audience-schedules.ts'
import { stopRunningSync } from '../../temporal/audience-syncs.ts'
import { startSync, type AudienceRouteDependencies } from './audience-dependencies.ts'
import { SyncStartedSchema, takeStreams } from './audience-members.ts'
import { previewSync } from './audience-preview.ts'
import { needsTemporal } from './part-limits.ts'
import { DoneSchema, errorResponses, IdParamsSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

const tags = ['audiences']

const SyncParamsSchema = z.object({ id: z.string(), syncId: z.string() })

const BackfillSchema = z.strictObject({ from: z.iso.datetime({ offset: true }), to: z.iso.datetime({ offset: true }) })

export const audienceSyncRoutes: FastifyPluginAsyncZod<AudienceRouteDependencies> = async (app, dependencies) => {
  const { database, temporal, audiences, partLimits } = dependencies

  for (const kind of ['sync', 'resync'] as const)
    app.post(
      `/audiences/:id/${kind}`,
      { schema: { tags, security, params: IdParamsSchema, response: { 202: SyncStartedSchema, ...errorResponses } } },
      async ({ params }, reply) => {
        await audiences.get(params.id)
        return reply.code(202).send(await startSync(dependencies, { audienceId: params.id, kind }))
      },
    )

  app.get(
    '/audiences/:id/syncs',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        querystring: PageQuerySchema,
        response: { 200: pageSchema(SyncSchema), ...errorResponses },
      },
    },
    async ({ params, query }) => {
      await audiences.getStored(params.id)
      return listSyncs(database, params.id, query)
    },
  )

  app.get(
    '/audiences/:id/syncs/:syncId',
    { schema: { tags, security, params: SyncParamsSchema, response: { 200: SyncSchema, ...errorResponses } } },
    ({ params }) => getSync(database, params.id, params.syncId),
  )

  app.get(
    '/audiences/:id/syncs/:syncId/users',
    {
      schema: {
        tags,
        security,
        params: SyncParamsSchema,
        querystring: PageQuerySchema.extend({ search: MemberSearchSchema, outcome: SyncUserOutcomeSchema.optional() }),
        response: { 200: pageSchema(SyncUserSchema), ...errorResponses },
      },
    },
    async ({ params: { id, syncId }, query }) => {
      const { number } = await readSync(database, id, syncId)
      const { items, nextCursor } = await listSyncUsers(database, id, number, query)
      return { items: items.map((user) => ({ ...user, deliveryId: deliveryIdOf(id, syncId, user) })), nextCursor }
    },
  )

  app.post(
    '/audiences/:id/syncs/:syncId/confirm',
    { schema: { tags, security, params: SyncParamsSchema, response: { 202: SyncStartedSchema, ...errorResponses } } },
    async ({ params: { id, syncId } }, reply) => {
      await confirmSync(database, id, syncId)
      dependencies.onSyncRequested()
      return reply.code(202).send({ syncId })
    },
  )

  app.post(
    '/audiences/:id/syncs/:syncId/stop',
    { schema: { tags, security, params: SyncParamsSchema, response: { 202: SyncStartedSchema, ...errorResponses } } },
    async ({ params: { id, syncId } }, reply) => {
      await requestStop(database, id, syncId)
      await partLimits.whilePresent(['temporal'], () => stopRunningSync(temporal, id, syncId))
      return reply.code(202).send({ syncId })
    },
  )

  app.post(
    '/audiences/:id/syncs/:syncId/undo',
    { schema: { tags, security, params: SyncParamsSchema, response: { 202: SyncStartedSchema, ...errorResponses } } },
    async ({ params: { id, syncId } }, reply) => {
      const sync = await readSync(database, id, syncId)
      const reason = reasonNotToUndo(sync)
      if (reason !== undefined) throw new AppError('conflict', reason)
      return reply.code(202).send(await startSync(dependencies, { audienceId: id, kind: 'undo', undoOf: sync.number }))
    },
  )

  for (const action of ['pause', 'resume'] as const)
    app.post(
      `/audiences/:id/${action}`,
      { schema: { tags, security, params: IdParamsSchema, response: { 200: AudienceSchema, ...errorResponses } } },
      async ({ params }) => {
        const { schedule } = await audiences.get(params.id)
        if (schedule !== null)
          await partLimits.whilePresent(['temporal'], () =>
            putSchedule(temporal, params.id, schedule, action === 'pause'),
          )
        return audiences.setPaused(params.id, action === 'pause')
      },
    )

  app.post(
    '/audiences/:id/backfill',
    {
      config: needsTemporal,
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        body: BackfillSchema,
        response: { 202: DoneSchema, ...errorResponses },
      },
    },
    async ({ params, body }, reply) => {
      await audiences.get(params.id)
      await backfill(temporal, params.id, new Date(body.from), new Date(body.to))
      return reply.code(202).send({ success: true as const })
    },
  )

  await app.register(async (previews) => {
    takeStreams(previews)
    previews.post<{ Params: { id: string } }>(
      '/audiences/:id/preview',
      {
        config: { audit: false },
        schema: { tags, security, params: IdParamsSchema, response: { 200: PreviewSchema, ...errorResponses } },
      },
      (request) => previewSync(dependencies, request.params.id, request),
    )
  })
}

/** The delivery of one that was handed on. */
const deliveryIdOf = (
  audienceId: string,
  syncId: string,
  { userId, destinationId, outcome }: Pick<SyncUser, 'userId' | 'destinationId' | 'outcome'>,
): string | null =>
  outcome !== 'handed_on' || destinationId === null
    ? null
    : changeWorkflowId(audienceId, changeMessageId({ audience: { id: audienceId }, syncId }, userId), destinationId)
