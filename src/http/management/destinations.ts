import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Database } from '../../db/database.ts'
import type { DestinationStore } from '../../db/destinations.ts'
import { readEndpointStates } from '../../db/endpoint-states.ts'
import type { AddressGuard } from '../../delivery/guard-address.ts'
import type { Sender } from '../../delivery/send.ts'
import {
  DestinationPatchSchema,
  DestinationViewSchema,
  NewDestinationSchema,
  type Destination,
  type DestinationView,
} from '../../schemas/destination.ts'
import type { Mapper } from '../../mapping/mapper.ts'
import { DraftTestRequestSchema, EndpointTestSchema, TestRequestSchema } from '../../schemas/endpoint-test.ts'
import type { Settings } from '../../settings/settings.ts'
import { checkMapping } from './check-mapping.ts'
import { checkWebhooks } from './check-webhooks.ts'
import { expectShallow } from './expect-shallow.ts'
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
import { testDestination, testDraft } from './test-destination.ts'

export interface DestinationDependencies {
  database: Database
  destinations: DestinationStore
  settings: Settings
  guard: AddressGuard
  sender: Sender
  mapper: Mapper
  /** To be called with changes that waiting deliveries must know. */
  onDestinationChanged: () => void
}

const tags = ['destinations']

export const destinationRoutes: FastifyPluginAsyncZod<DestinationDependencies> = async (app, dependencies) => {
  const { database, destinations, settings, guard, onDestinationChanged } = dependencies
  const withState = async (destination: Destination): Promise<DestinationView> => ({
    ...destination,
    endpoints: await readEndpointStates(database, idsOf(destination)),
  })

  app.addHook('preValidation', expectShallow)

  app.get(
    '/destinations',
    {
      schema: {
        tags,
        security,
        querystring: PageQuerySchema,
        response: { 200: pageSchema(DestinationViewSchema), ...errorResponses },
      },
    },
    async ({ query }) => {
      const page = await destinations.list(query)
      return { ...page, items: await withStates(database, page.items) }
    },
  )

  app.post(
    '/destinations',
    {
      schema: {
        tags,
        security,
        querystring: NameRuleSchema,
        body: NewDestinationSchema,
        response: { 201: DestinationViewSchema, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { body, query } = request
      checkWebhooks(body.settings.webhooks, guard)
      checkMapping(body.mapping)
      const destination = tagged(request, reply, await destinations.create(body, query))
      await settings.refresh()
      return reply.code(201).send(await withState(destination))
    },
  )

  app.get(
    '/destinations/:id',
    { schema: { tags, security, params: IdParamsSchema, response: { 200: DestinationViewSchema, ...errorResponses } } },
    async (request, reply) => withState(tagged(request, reply, await destinations.get(request.params.id))),
  )

  app.patch(
    '/destinations/:id',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        querystring: NameRuleSchema,
        body: DestinationPatchSchema,
        response: { 200: DestinationViewSchema, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, query, body } = request
      checkWebhooks(body.settings?.webhooks ?? [], guard)
      checkMapping(body.mapping)
      const check = unchangedCheck(request, body)
      const destination = await destinations.update(params.id, body, { ...query, check })
      await settings.refresh()
      onDestinationChanged()
      return withState(tagged(request, reply, destination))
    },
  )

  app.delete(
    '/destinations/:id',
    { schema: { tags, security, params: IdParamsSchema, response: { 200: DoneSchema, ...errorResponses } } },
    async ({ params }) => {
      await destinations.delete(params.id)
      await settings.refresh()
      onDestinationChanged()
      return { success: true as const }
    },
  )

  app.post(
    '/destinations/:id/test',
    {
      // It waits for endpoints.
      config: { needs: [] },
      schema: {
        tags,
        security,
        summary: 'Send a sample event to every endpoint, now',
        params: IdParamsSchema,
        body: TestRequestSchema,
        response: { 200: EndpointTestSchema, ...errorResponses },
      },
    },
    async ({ params, body }) => testDestination(dependencies, params.id, body?.type ?? 'track'),
  )

  app.post(
    '/destinations/test',
    {
      // It waits for endpoints.
      config: { needs: [] },
      schema: {
        tags,
        security,
        summary: 'Send a sample event to endpoints before they are saved',
        body: DraftTestRequestSchema,
        response: { 200: EndpointTestSchema, ...errorResponses },
      },
    },
    async ({ body }) => {
      checkWebhooks(body.settings.webhooks, guard)
      return testDraft(dependencies, body)
    },
  )
}

const idsOf = ({ settings }: Destination): string[] => settings.webhooks.map(({ id }) => id)

/** One question for all of a page. */
async function withStates(database: Database, destinations: readonly Destination[]): Promise<DestinationView[]> {
  const states = await readEndpointStates(database, destinations.flatMap(idsOf))
  const byId = new Map(states.map((state) => [state.id, state]))
  return destinations.map((destination) => ({
    ...destination,
    endpoints: idsOf(destination).flatMap((id) => byId.get(id) ?? []),
  }))
}
