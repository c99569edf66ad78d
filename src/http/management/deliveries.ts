import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  BulkRedeliveryRequestSchema,
  BulkSteeringRequestSchema,
  BulkSteeringSchema,
  DeliveryDetailSchema,
  DeliveryFilterSchema,
  DeliverySchema,
  DeliverySteeredSchema,
  RedeliveryRequestSchema,
  SteerableRequestSchema,
  SteerableSchema,
  SteeringActionSchema,
  SteeringRequestSchema,
} from '../../schemas/delivery.ts'
import type { DeliveryLog } from '../../delivery-log/delivery-log.ts'
import type { SteerableCounts } from '../../delivery-log/steerable.ts'
import type { BulkSteerings } from '../../temporal/bulk-steering.ts'
import type { Steering } from '../../temporal/steering.ts'
import type { WhilePresent } from '../../within.ts'
import { needsTemporal, type PartLimits } from './part-limits.ts'
import { DoneSchema, errorResponses, IdParamsSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

export interface DeliveryRouteDependencies {
  deliveryLog: DeliveryLog
  steerableCounts: SteerableCounts
  steering: Steering
  bulkSteerings: BulkSteerings
  partLimits: PartLimits
}

const tags = ['deliveries']

export const deliveryRoutes: FastifyPluginAsyncZod<DeliveryRouteDependencies> = async (app, dependencies) => {
  const { deliveryLog, steerableCounts, steering, bulkSteerings, partLimits } = dependencies
  const whilePresent: WhilePresent = (work) => partLimits.whilePresent(['temporal'], work)

  app.get(
    '/deliveries',
    {
      schema: {
        tags,
        security,
        summary: 'Deliveries: those under way first, then the latest to end',
        querystring: DeliveryFilterSchema.extend(PageQuerySchema.shape),
        response: { 200: pageSchema(DeliverySchema), ...errorResponses },
      },
    },
    ({ query: { limit, cursor, ...filter } }) => deliveryLog.list(filter, { limit, cursor }, whilePresent),
  )

  app.get(
    '/deliveries/count',
    {
      schema: {
        tags,
        security,
        querystring: DeliveryFilterSchema,
        response: { 200: z.object({ count: z.int() }), ...errorResponses },
      },
    },
    async ({ query }) => ({ count: await deliveryLog.count(query, whilePresent) }),
  )

  app.get(
    '/deliveries/steerable',
    {
      config: needsTemporal,
      schema: {
        tags,
        security,
        querystring: DeliveryFilterSchema.extend({ action: SteeringActionSchema }),
        response: { 200: SteerableSchema, ...errorResponses },
      },
    },
    ({ query: { action, ...filter } }) => steerableCounts.ofFilter(action, filter),
  )

  app.post(
    '/deliveries/steerable',
    {
      config: { ...needsTemporal, access: 'read', audit: false },
      schema: { tags, security, body: SteerableRequestSchema, response: { 200: SteerableSchema, ...errorResponses } },
    },
    ({ body: { action, ids } }) => steerableCounts.ofIds(action, ids),
  )

  app.get(
    '/deliveries/:id',
    {
      schema: { tags, security, params: IdParamsSchema, response: { 200: DeliveryDetailSchema, ...errorResponses } },
    },
    ({ params }) => deliveryLog.read(params.id, whilePresent),
  )

  for (const action of ['retry', 'cancel'] as const) {
    app.post(
      `/deliveries/:id/${action}`,
      {
        schema: {
          tags,
          security,
          params: IdParamsSchema,
          body: SteeringRequestSchema,
          response: { 200: DoneSchema.extend({ became: DeliverySteeredSchema }), ...errorResponses },
        },
      },
      async ({ params, body, actor }) => ({
        success: true as const,
        became: await steering[action](params.id, { by: actor?.name, ...body }, whilePresent),
      }),
    )
  }

  app.post(
    '/deliveries/:id/redeliver',
    {
      config: needsTemporal,
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        body: RedeliveryRequestSchema,
        response: { 200: z.object({ id: z.string() }), ...errorResponses },
      },
    },
    async ({ params, body, actor }) => {
      const { why, ...choice } = body ?? {}
      return { id: await steering.redeliver(params.id, { by: actor?.name, why }, choice) }
    },
  )

  app.post(
    '/deliveries/redeliver',
    {
      config: needsTemporal,
      schema: {
        tags,
        security,
        body: BulkRedeliveryRequestSchema,
        response: { 202: BulkSteeringSchema, ...errorResponses },
      },
    },
    async ({ body: { why, only, unlessRedelivered, ...filter }, actor }, reply) => {
      const order = { action: 'redeliver', only, unlessRedelivered } as const
      return reply.code(202).send(await bulkSteerings.start(order, filter, { by: actor?.name, why }))
    },
  )

  for (const action of ['retry', 'cancel'] as const) {
    app.post(
      `/deliveries/${action}`,
      {
        config: needsTemporal,
        schema: {
          tags,
          security,
          body: BulkSteeringRequestSchema,
          response: { 202: BulkSteeringSchema, ...errorResponses },
        },
      },
      async ({ body: { why, ...filter }, actor }, reply) =>
        reply.code(202).send(await bulkSteerings.start({ action }, filter, { by: actor?.name, why })),
    )
  }

  app.get(
    '/deliveries/bulk/:id',
    {
      config: needsTemporal,
      schema: { tags, security, params: IdParamsSchema, response: { 200: BulkSteeringSchema, ...errorResponses } },
    },
    ({ params }) => bulkSteerings.read(params.id),
  )

  app.post(
    '/deliveries/bulk/:id/stop',
    {
      config: needsTemporal,
      schema: { tags, security, params: IdParamsSchema, response: { 200: DoneSchema, ...errorResponses } },
    },
    async ({ params }) => {
      await bulkSteerings.stop(params.id)
      return { success: true as const }
    },
  )
}
