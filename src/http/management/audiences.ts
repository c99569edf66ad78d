import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { dropAudience } from '../../db/audiences-purge.ts'
import { AudiencePatchSchema, AudienceSchema, NewAudienceSchema, type Audience } from '../../schemas/audience.ts'
import { putSchedule } from '../../temporal/audience-schedules.ts'
import { startSync, type AudienceRouteDependencies } from './audience-dependencies.ts'
import { changedKey, keyOf } from './audience-keys.ts'
import { checkMembership } from './check-membership.ts'
import { checkSchedule } from './check-schedule.ts'
import { tagged, unchangedCheck } from './entity-tag.ts'
import { errorResponses, IdParamsSchema, NameRuleSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

const tags = ['audiences']

/** `notify`: tell the members first that they no longer belong to it. */
const DeleteQuerySchema = z.strictObject({
  notify: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
})

export const audienceRoutes: FastifyPluginAsyncZod<AudienceRouteDependencies> = async (app, dependencies) => {
  const { database, temporal, audiences, pullGuard, partLimits } = dependencies
  const reschedule = (...schedule: [id: string, schedule: Audience['schedule'], paused: boolean]): Promise<void> =>
    partLimits.whilePresent(['temporal'], () => putSchedule(temporal, ...schedule))

  app.get(
    '/audiences',
    {
      schema: {
        tags,
        security,
        querystring: PageQuerySchema,
        response: { 200: pageSchema(AudienceSchema), ...errorResponses },
      },
    },
    ({ query }) => audiences.list(query),
  )

  app.post(
    '/audiences',
    {
      schema: {
        tags,
        security,
        querystring: NameRuleSchema,
        body: NewAudienceSchema,
        response: { 201: AudienceSchema, ...errorResponses },
      },
    },
    async ({ body, query }, reply) => {
      checkMembership(body.membership, pullGuard, { isNew: true })
      checkSchedule(body.schedule, null)
      const audience = await audiences.create({ ...body, key: body.key ?? keyOf(body.name) }, query)
      try {
        if (audience.schedule !== null) await reschedule(audience.id, audience.schedule, false)
      } catch (error) {
        await dropAudience(database, audience.id)
        throw error
      }
      return reply.code(201).send(audience)
    },
  )

  app.get(
    '/audiences/:id',
    { schema: { tags, security, params: IdParamsSchema, response: { 200: AudienceSchema, ...errorResponses } } },
    async (request, reply) => tagged(request, reply, await audiences.get(request.params.id)),
  )

  app.patch(
    '/audiences/:id',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        querystring: NameRuleSchema,
        body: AudiencePatchSchema,
        response: { 200: AudienceSchema, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, query, body } = request
      if (body.membership !== undefined) checkMembership(body.membership, pullGuard, { isNew: false })
      const before = await audiences.get(params.id)
      const check = unchangedCheck(request, body)
      // Before its schedule is changed in Temporal, and once more when nobody else can change it.
      check(before)
      checkSchedule(body.schedule, before.schedule)
      const newKey = changedKey(before, body)
      const reschedules = body.schedule !== undefined
      if (reschedules) await reschedule(params.id, body.schedule ?? null, before.paused)
      try {
        return tagged(request, reply, await audiences.update(params.id, body, { ...query, newKey, check }))
      } catch (error) {
        if (reschedules) {
          // Another change may have come between.
          const { schedule, paused } = await audiences.get(params.id).catch(() => before)
          await reschedule(params.id, schedule, paused)
        }
        throw error
      }
    },
  )

  app.delete(
    '/audiences/:id',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        querystring: DeleteQuerySchema,
        response: { 200: z.object({ success: z.literal(true), syncId: z.string() }), ...errorResponses },
      },
    },
    async ({ params, query }) => {
      await audiences.markDeleted(params.id, query.notify)
      const { syncId } = await startSync(dependencies, { audienceId: params.id, kind: 'delete' })
      return { success: true as const, syncId }
    },
  )
}
