import { queryOptions } from '@tanstack/react-query'
import type { z } from 'zod'
import type { DestinationPatch, NewDestinationSchema } from '../../../src/schemas/destination.ts'
import type { DraftTestRequest } from '../../../src/schemas/endpoint-test.ts'
import type { MessageType } from '../../../src/schemas/message.ts'
import type { RehearseRequest } from '../../../src/schemas/rehearsal.ts'
import { readAll } from './query-client.ts'
import { answerOf, api, taggedOf, uniqueName } from './request.ts'

export type NewDestination = z.input<typeof NewDestinationSchema>

export const destinationsQuery = queryOptions({
  queryKey: ['destinations'],
  queryFn: ({ signal }) => readAll((query) => api.GET('/destinations', { params: { query }, signal })),
})

export const destinationQuery = (id: string) =>
  queryOptions({
    queryKey: ['destinations', id],
    queryFn: ({ signal }) => taggedOf(api.GET('/destinations/{id}', { params: { path: { id } }, signal })),
  })

export const createDestination = (body: NewDestination) =>
  taggedOf(api.POST('/destinations', { params: { query: uniqueName }, body }))

/** @param ifMatch  refuses it when somebody changed since what it would overwrite */
export const changeDestination = (id: string, body: DestinationPatch, ifMatch: string | null = null) =>
  taggedOf(
    api.PATCH('/destinations/{id}', {
      params: { path: { id }, query: uniqueName },
      headers: { 'if-match': ifMatch },
      body,
    }),
  )

/** Saves all that a form has.
 *  @param ifMatch  as for `changeDestination`; null: it is saved over what others saved meanwhile */
export const saveDestination = (id: string, body: DestinationPatch, ifMatch: string | null) =>
  ifMatch === null ? overwriteDestination(id, body) : changeDestination(id, body, ifMatch)

/** Endpoints that others removed have no id any more: they are made anew. */
async function overwriteDestination(id: string, { settings, ...body }: DestinationPatch) {
  const { answer } = await taggedOf(api.GET('/destinations/{id}', { params: { path: { id } } }))
  const known = new Set(answer.settings.webhooks.map((webhook) => webhook.id))
  const webhooks = settings?.webhooks?.map(({ id: webhookId, ...webhook }) =>
    webhookId !== undefined && known.has(webhookId) ? { id: webhookId, ...webhook } : webhook,
  )
  return changeDestination(id, { ...body, settings: { ...settings, webhooks } })
}

export const deleteDestination = (id: string) =>
  answerOf(api.DELETE('/destinations/{id}', { params: { path: { id } } }))

/** What a draft would have made of the newest events. @param draft  a filter or a mapping, as JSON */
export const rehearsalQuery = (id: string, draft: string) =>
  queryOptions({
    queryKey: ['rehearsal', id, draft],
    queryFn: ({ signal }) => {
      const body = JSON.parse(draft) as RehearseRequest
      return answerOf(api.POST('/destinations/{id}/rehearse', { params: { path: { id } }, body, signal }))
    },
    retry: false,
  })

/** Sends a sample event of `type` to every endpoint, now. */
export const testDestination = (id: string, type: MessageType) =>
  answerOf(api.POST('/destinations/{id}/test', { params: { path: { id } }, body: { type } }))

/** Sends a sample event to endpoints as they are typed. */
export const testDraft = (body: DraftTestRequest) => answerOf(api.POST('/destinations/test', { body }))

export const catalogQuery = queryOptions({
  queryKey: ['catalog'],
  queryFn: async ({ signal }) => (await answerOf(api.GET('/catalog', { signal }))).items,
  staleTime: Infinity,
})
