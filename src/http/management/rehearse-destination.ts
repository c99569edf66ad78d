/** Drafts of a filter and of a mapping, tried on the events that its destination's sources sent last. */

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { readRecordedEvents, type RecordedEventsDependencies } from '../../delivery-log/recorded-events.ts'
import { compileFilter } from '../../filters/filter.ts'
import { rehearse } from '../../rehearsal/rehearse.ts'
import type { Mapper } from '../../mapping/mapper.ts'
import { RehearsalSchema, RehearseRequestSchema } from '../../schemas/rehearsal.ts'
import type { DestinationStore } from '../../db/destinations.ts'
import { checkMapping } from './check-mapping.ts'
import { expectShallow } from './expect-shallow.ts'
import { needsTemporal, type PartLimits } from './part-limits.ts'
import { errorResponses, IdParamsSchema, security } from './schemas.ts'

export interface RehearsalDependencies extends RecordedEventsDependencies {
  destinations: DestinationStore
  mapper: Mapper
  partLimits: PartLimits
}

export const rehearsalRoutes: FastifyPluginAsyncZod<RehearsalDependencies> = async (app, dependencies) => {
  const { destinations, mapper, partLimits } = dependencies

  app.post(
    '/destinations/:id/rehearse',
    {
      config: { ...needsTemporal, audit: false },
      preValidation: expectShallow,
      schema: {
        tags: ['destinations'],
        summary: 'Try a filter and a mapping on the newest events of its sources; nothing is sent',
        security,
        params: IdParamsSchema,
        body: RehearseRequestSchema,
        response: { 200: RehearsalSchema, ...errorResponses },
      },
    },
    async ({ params: { id }, body }) => {
      checkMapping(body.mapping)
      const destination = await destinations.get(id)
      const { filter = destination.filter, mapping = destination.mapping, limit } = body
      const events = await readRecordedEvents(dependencies, destination.sourceIds, limit, (work) =>
        partLimits.whilePresent(['temporal'], work),
      )
      return rehearse(events, {
        filter: filter === null ? undefined : compileFilter(filter, id),
        mapping: mapping === null ? undefined : mapper.compile(mapping),
      })
    },
  )
}
