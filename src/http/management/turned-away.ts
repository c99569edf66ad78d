/** Events that became no delivery: listed, and looked at with what they held. */

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Database } from '../../db/database.ts'
import { getTurnedAway, listTurnedAway } from '../../db/turned-away.ts'
import type { IngestPort } from '../../ingest/port.ts'
import { TurnedAwayDetailSchema, TurnedAwayEventSchema, TurnedAwayFilterSchema } from '../../schemas/turned-away.ts'
import { errorResponses, IdParamsSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

const tags = ['events']

export interface TurnedAwayDependencies {
  database: Database
  ingest: Pick<IngestPort, 'turnedAwayWritten'>
}

export const turnedAwayRoutes: FastifyPluginAsyncZod<TurnedAwayDependencies> = async (app, dependencies) => {
  const { database, ingest } = dependencies

  app.get(
    '/turned-away',
    {
      schema: {
        tags,
        summary:
          'Events that became no delivery, newest first: the newest 10,000 of each source, for 24 hours; of a burst only the newest',
        security,
        querystring: TurnedAwayFilterSchema.extend(PageQuerySchema.shape),
        response: { 200: pageSchema(TurnedAwayEventSchema), ...errorResponses },
      },
    },
    ({ query: { limit, cursor, ...filter } }) => listTurnedAway(database, filter, { limit, cursor }),
  )

  app.get(
    '/turned-away/:id',
    {
      schema: { tags, security, params: IdParamsSchema, response: { 200: TurnedAwayDetailSchema, ...errorResponses } },
    },
    async ({ params }) => {
      // Asked for from the live stream, it may not be written yet.
      await ingest.turnedAwayWritten?.()
      return getTurnedAway(database, params.id)
    },
  )
}
